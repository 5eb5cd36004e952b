// The stream of events, and coming back to it when it breaks.
//
//   hello   what was, once for each connection
//   sample  every second
//
// Not here: what is done with them.

const SILENCE_MS = 6000;
const AGAIN_MS = 2000;

/** The address of something of ours. An address with credentials, as a link may have, can't be asked by scripts. */
export function ours(path) {
  return new URL(path, location.origin + location.pathname);
}

/** `heard(name, value)` for each event; `changed(state)` when it is "live", "lost", "refused" or "hidden". */
export function listen(heard, changed) {
  let source = null;
  let silence = 0;
  let again = 0;

  function open() {
    close();
    source = new EventSource(ours("api/events"));
    for (const name of ["hello", "sample"]) source.addEventListener(name, (event) => hear(name, event.data));
    source.onerror = () => {
      // It comes back by itself, unless it was refused.
      const isRefused = source?.readyState === EventSource.CLOSED;
      changed(isRefused ? "refused" : "lost");
      if (isRefused) retry();
    };
    watch();
  }

  function hear(name, data) {
    watch();
    changed("live");
    heard(name, JSON.parse(data));
  }

  function watch() {
    clearTimeout(silence);
    silence = setTimeout(() => {
      changed("lost");
      open();
    }, SILENCE_MS);
  }

  function retry() {
    clearTimeout(silence);
    clearTimeout(again);
    again = setTimeout(open, AGAIN_MS);
  }

  function close() {
    clearTimeout(silence);
    clearTimeout(again);
    if (source) source.close();
    source = null;
  }

  // A page that nobody sees costs nothing, and begins with the history when it is looked at again.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
      changed("hidden");
    } else open();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
  if (!document.hidden) open();
}
