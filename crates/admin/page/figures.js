// Numbers in few characters, as `wirepress top` writes them.
// Not here: which numbers.

const NONE = "–";

/** Decimal prefixes, as links have them: 1.23 MB. */
export function bytes(count) {
  if (count === null || count === undefined) return NONE;
  const sign = count < 0 ? "−" : "";
  let rest = Math.abs(count);
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (rest < 999.5) return `${sign}${threeDigits(rest, unit === "B")}\u00a0${unit}`;
    rest /= 1000;
  }
  return `${sign}${threeDigits(rest, false)}\u00a0TB`;
}

/** For an axis: 10 MB/s. */
export const tick = (count) => `${bytes(count).replace(/\.0+(?=\s)/, "").replace(/(\.\d*[1-9])0+(?=\s)/, "$1")}/s`;

export const rate = (count) => (count === null || count === undefined ? NONE : `${bytes(count)}/s`);

/** Plain per packed. */
export function ratio(number) {
  return number === null || number === undefined || !Number.isFinite(number) ? NONE : `${threeDigits(number, false)}×`;
}

export const ratioOf = (plain, packed) => (packed > 0 ? plain / packed : null);

/** Of one core, from millionths. */
export function percent(millionths) {
  if (millionths === null || millionths === undefined) return NONE;
  const number = millionths / 1e4;
  return `${number.toFixed(number > 0 && number < 1 ? 2 : 1)}\u00a0%`;
}

export const count = (number) => (number ?? 0).toLocaleString("en");

/** 59s, 3m07s, 2h05m, 12d3h. */
export function seconds(all) {
  const two = (number) => String(number).padStart(2, "0");
  if (all < 60) return `${all}s`;
  if (all < 3600) return `${Math.floor(all / 60)}m${two(all % 60)}s`;
  if (all < 86400) return `${Math.floor(all / 3600)}h${two(Math.floor(all / 60) % 60)}m`;
  return `${Math.floor(all / 86400)}d${Math.floor(all / 3600) % 24}h`;
}

/** In whatever currency the prices are. */
export function money(amount) {
  if (amount === null || amount === undefined) return NONE;
  const form = Math.abs(amount) >= 1 ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumSignificantDigits: 3 };
  return amount.toLocaleString("en", form);
}

/** The time of day here. */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString("en-GB");
}

function threeDigits(number, whole) {
  if (whole || number >= 99.95) return number.toFixed(0);
  return number.toFixed(number >= 9.995 ? 1 : 2);
}
