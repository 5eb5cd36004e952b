// Tiles, decisions, links, faults, and the charts as a table.
// Not here: charts (`chart`), connections (`table`).

import { attribute, byId, element, put, rows } from "./dom.js";
import { FLOWS, flowAt, sparkline, sparklineDrawing } from "./chart.js";
import { bytes, clock, count, money, percent, rate, ratio, ratioOf, seconds } from "./figures.js";

const DIRECTIONS = { to_server: "to server", to_client: "to client" };
const MONTH_S = 30 * 86400;
/** Seconds between two rows of the table that says what the charts show. */
const STEP_S = 15;
const DECISIONS_SHOWN = 60;

/** The figures at the top. */
export class Tiles {
  constructor(place) {
    const tile = (name) => {
      const parts = { big: element("b"), small: element("span", { class: "muted" }), spark: sparklineDrawing() };
      const box = element("div", {}, element("dt", {}, name), element("dd", {}, parts.big, parts.small), parts.spark);
      place.append(box);
      return parts;
    };
    this.connections = tile("Connections");
    this.legs = [tile("Client legs"), tile("Server legs")];
    this.cpu = tile("Codec CPU");
    this.saved = tile("Saved since the start");
    this.saved.spark.remove();
    this.savedTitle = place.lastElementChild.firstElementChild;
  }

  draw(points, scope, state, prices) {
    const recent = points.slice(-60);
    put(this.connections.big, `${count(state.open)}`);
    put(this.connections.small, `${count(state.active)} active, ${count(state.sessions)} sessions so far`);
    sparkline(this.connections.spark, recent.map((point) => point.open));
    this.legs.forEach((tile, side) => {
      const leg = (point) => sum(point, scope, side * 2);
      const [plain, packed] = mean(points.slice(-3).map(leg));
      put(tile.big, ratio(ratioOf(plain, packed)));
      put(tile.small, `${rate(plain)} as ${rate(packed)}`);
      sparkline(tile.spark, recent.map(leg).map(([plain, packed]) => ratioOf(plain, packed) ?? 0));
    });
    const cpu = (point) => sum(point, scope, 0)[2] + sum(point, scope, 2)[2];
    put(this.cpu.big, percent(mean(points.slice(-3).map((point) => [cpu(point)]))[0] ?? 0));
    put(this.cpu.small, "of one core, packing and unpacking");
    sparkline(this.cpu.spark, recent.map(cpu));
    this.drawSaved(state, prices);
  }

  drawSaved({ legs, uptime }, [perGb]) {
    const text = (leg, what) => `${leg.side} legs ${what}`;
    if (perGb === null) {
      put(this.saved.big, bytes(legs.reduce((sum, leg) => sum + leg.plain - leg.packed, 0)));
      put(this.saved.small, `${legs.map((leg) => text(leg, bytes(leg.plain - leg.packed))).join(", ")}; --price-per-gb makes it money`);
      return;
    }
    put(this.savedTitle, `Saved since the start, at ${money(perGb)} per GB`);
    const all = legs.reduce((sum, leg) => sum + leg.saved, 0);
    put(this.saved.big, money(all));
    const month = uptime >= 60 ? `; ${money((all / uptime) * MONTH_S)} in 30 days at this pace` : "";
    const parts = legs.map((leg) => text(leg, `${money(leg.saved)} (${bytes(leg.plain - leg.packed)})`));
    put(this.saved.small, `${parts.join(", ")}${month}`);
  }
}

/** Plain, packed and CPU of a leg's two directions together. */
function sum(point, scope, first) {
  const numbers = [first, first + 1].map((index) => flowAt(point, scope, index) ?? [0, 0, 0]);
  return numbers[0].map((number, which) => number + numbers[1][which]);
}

function mean(all) {
  if (!all.length) return [];
  return all[0].map((_, which) => all.reduce((sum, numbers) => sum + numbers[which], 0) / all.length);
}

/** What was decided last, newest first. */
export function drawDecisions(table, entries) {
  const body = bodyOf(table, ["Time", "Direction", "Frames", "Because", "Connections"]);
  if (!entries.length) {
    return rows(body, [[{ text: "Nothing was decided yet. Only --policy latency decides frame by frame, on legs with compression.", class: "none", span: 5 }]]);
  }
  const whose = (entry) => `#${entry.id}${entry.user ? ` ${entry.user}` : ""}`;
  rows(
    body,
    entries.slice(-DECISIONS_SHOWN).reverse().map((entry) => [
      { text: clock(entry.t) },
      { text: DIRECTIONS[entry.direction] },
      { text: entry.choice, class: `choice ${entry.choice === "packed" ? "packed" : ""}` },
      { text: entry.reason, class: "words" },
      { text: entry.count === 1 ? whose(entry) : `${count(entry.count)}, such as ${whose(entry)}` },
    ]),
  );
}

/** Links by peer, with what they carry now, and the servers. */
export function drawLinks(table, point, { state, sessions }, choose) {
  const body = bodyOf(table, ["Peer", "Sessions", "Plain", "Packed", "Ratio", "Link seen to carry"]);
  const scopes = Object.keys(point?.flows ?? {}).filter((name) => /^(client|server) /.test(name));
  const names = new Set([...scopes, ...state.servers.map((server) => `server ${server.address}`)]);
  const all = [...names].sort((a, b) => carried(point, b) - carried(point, a)).map((name) => {
    const [side, peer] = [name.slice(0, 6), name.slice(7)];
    const first = side === "client" ? 0 : 2;
    const [plain, packed] = point ? sum(point, name, first) : [0, 0];
    const server = side === "server" && state.servers.find((server) => server.address === peer);
    const link = state.links.find((link) => link.side === side && (peer === link.peer || hostOf(peer) === link.peer));
    const seen = link?.bytes_per_second ? `${rate(link.bytes_per_second)}, ${seconds(link.seconds_ago)} ago` : "–";
    const down = server?.down ? `down: ${server.down}` : null;
    const open = sessions[name] ?? server?.sessions;
    return [
      { text: `${side} ${peer}`, head: true, button: () => choose(name), title: "Show its charts" },
      { text: open === undefined ? "–" : count(open), class: "number" },
      ...(down ? [{ text: down, class: "bad words", span: 4 }] : [
        { text: rate(plain), class: "number" },
        { text: rate(packed), class: "number" },
        { text: ratio(ratioOf(plain, packed)), class: "number" },
        { text: seen, class: "number" },
      ]),
    ];
  });
  rows(body, all.length ? all : [[{ text: "No link is in use.", class: "none", span: 6 }]]);
}

function carried(point, name) {
  const numbers = point?.flows[name];
  return numbers ? numbers[0] + numbers[3] + 1 : 0;
}

const hostOf = (address) => address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");

export function drawFaults(place, state) {
  const told = state.faults.map(([side, phase, cause, n]) => `${count(n)} × ${side}, ${phase}: ${cause}`);
  put(place, told.length ? told.join(" · ") : "None: every session has ended in order.");
}

/** The charts as a table, newest first. */
export function drawFigures(table, points, scope) {
  const heads = FLOWS.flatMap(({ name }) => [`${name}, plain`, "packed"]);
  const body = bodyOf(table, ["Until", ...heads, "Codec CPU"], "Bytes per second, by leg and direction; each row is the mean of 15 seconds");
  const parts = [];
  for (let end = points.length; end > 0; end -= STEP_S) parts.push(points.slice(Math.max(0, end - STEP_S), end));
  rows(
    body,
    parts.map((part) => {
      const numbers = mean(part.map((point) => point.flows[scope] ?? Array(12).fill(0)));
      const cpu = numbers[2] + numbers[5] + numbers[8] + numbers[11];
      const flows = FLOWS.flatMap((_, index) => [numbers[index * 3], numbers[index * 3 + 1]]);
      return [
        { text: clock(part.at(-1).t), head: true },
        ...flows.map((number) => ({ text: rate(number), class: "number" })),
        { text: percent(cpu), class: "number" },
      ];
    }),
  );
}

/** The links and listeners that the charts can show. */
export function drawScopes(select, names, chosen) {
  const all = ["all", ...names.filter((name) => name !== "all").sort()];
  if (!all.includes(chosen)) all.push(chosen);
  if ([...select.options].map((option) => option.value).join("\n") !== all.join("\n")) {
    select.replaceChildren(...all.map((name) => element("option", { value: name }, name === "all" ? "everything" : name)));
  }
  if (select.value !== chosen) select.value = chosen;
}

export function drawAbout(state) {
  put(byId("about"), `${state.listeners.join(", ") || "no listener"} · up ${seconds(state.uptime)}${state.is_ready ? "" : " · takes no new sessions"}`);
}

function bodyOf(table, heads, caption) {
  if (!table.tHead) {
    const head = (text, at) => element("th", { scope: "col", class: at > 0 && table.id !== "decisions" ? "number" : "" }, text);
    if (caption) table.append(element("caption", {}, caption));
    table.append(element("thead", {}, element("tr", {}, ...heads.map(head))), element("tbody"));
  }
  attribute(table, "data-drawn", "yes");
  return table.tBodies[0];
}
