// Charts of plain against packed bytes per second, and small lines without axes.
//
//   points: [{t, flows: {scope: [plain, packed, cpu] * 4}}], oldest first
//
// Not here: the numbers' form (`figures`).

import { attribute, byId, element, put, shape } from "./dom.js";
import { bytes, clock, percent, rate, ratio, ratioOf, tick } from "./figures.js";

/** In the order of a point's numbers. */
export const FLOWS = [
  { side: "client", name: "Client leg, to server" },
  { side: "client", name: "Client leg, to client" },
  { side: "server", name: "Server leg, to server" },
  { side: "server", name: "Server leg, to client" },
];

const HEIGHT = 132;
const LEFT = 58;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 20;
/** Points that are farther apart have a gap between them: the connection was lost. */
const GAP_MS = 3500;

/** Plain, packed, CPU of a flow; null where the scope has none. */
export function flowAt(point, scope, index) {
  const numbers = point.flows[scope];
  return numbers ? numbers.slice(index * 3, index * 3 + 3) : null;
}

/** The charts of all flows. They share the time that is pointed at. */
export class Charts {
  constructor(place) {
    this.points = [];
    this.scope = "all";
    this.span = 300000;
    this.pointed = null;
    this.charts = FLOWS.map((flow, index) => new Chart(this, flow, index));
    place.append(...this.charts.map((chart) => chart.figure));
    new ResizeObserver(() => this.draw()).observe(place);
  }

  draw() {
    for (const chart of this.charts) chart.draw();
  }

  /** Points at the sample that is nearest to this time, or at none. */
  point(t, spoken) {
    const nearest = (best, point) => (Math.abs(point.t - t) < Math.abs(best.t - t) ? point : best);
    this.pointed = t === null || !this.points.length ? null : this.points.reduce(nearest);
    this.draw();
    if (spoken) put(byId("reading"), this.pointed ? spoken.readings()[1] : "");
  }

  step(by, chart) {
    const last = this.points.length - 1;
    const at = this.pointed ? this.points.indexOf(this.pointed) : last;
    const point = this.points[Math.max(0, Math.min(last, at + by))];
    if (point) this.point(point.t, chart);
  }
}

class Chart {
  constructor(all, flow, index) {
    Object.assign(this, { all, flow, index });
    this.title = element("h3", {}, flow.name);
    this.now = element("p", { class: "reading" });
    this.drawing = shape("svg", { role: "img", tabindex: "0", height: HEIGHT });
    this.grid = shape("g", { class: "grid" });
    this.packed = shape("path", { class: "packed-area" });
    this.packedLine = shape("path", { class: "packed-line" });
    this.plain = shape("path", { class: "plain-line" });
    this.cross = shape("line", { class: "cross", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    this.empty = shape("text", { class: "empty", "text-anchor": "middle", y: HEIGHT / 2 - 4 });
    this.drawing.append(this.grid, this.packed, this.packedLine, this.plain, this.cross, this.empty);
    this.figure = element("figure", {}, element("figcaption", {}, this.title, this.now), this.drawing);
    this.drawing.addEventListener("pointermove", (event) => this.follow(event));
    this.drawing.addEventListener("pointerleave", () => all.point(null));
    this.drawing.addEventListener("blur", () => all.point(null));
    this.drawing.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30, Home: -1e6, End: 1e6 };
    if (event.key in steps) this.all.step(steps[event.key], this);
    else if (event.key === "Escape") this.all.point(null, this);
    else return;
    event.preventDefault();
  }

  follow(event) {
    const box = this.drawing.getBoundingClientRect();
    const part = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    const last = this.all.points.at(-1);
    if (last) this.all.point(last.t - this.all.span * (1 - part));
  }

  /** What is drawn at the time that is pointed at, or now: for the eye, and in words. */
  readings() {
    const { pointed, points, scope } = this.all;
    const point = pointed ?? points.at(-1);
    const numbers = point && (flowAt(point, scope, this.index) ?? [0, 0, 0]);
    if (!numbers) return ["", ""];
    const [plain, packed, cpu] = numbers;
    const rest = [ratio(ratioOf(plain, packed)), `CPU ${percent(cpu)}`];
    const when = pointed ? [clock(point.t)] : [];
    return [
      [...when, `${rate(plain)} → ${rate(packed)}`, ...rest].join(" · "),
      [...when, `${rate(plain)} plain`, `${rate(packed)} packed`, ...rest].join(", "),
    ];
  }

  draw() {
    const { points, scope, span, pointed } = this.all;
    const width = Math.round(this.drawing.clientWidth || this.figure.clientWidth);
    if (!width) return;
    const end = points.at(-1)?.t ?? 0;
    const shown = points.filter((point) => point.t >= end - span);
    const values = shown.map((point) => ({ t: point.t, numbers: flowAt(point, scope, this.index) ?? [0, 0, 0] }));
    const most = Math.max(0, ...values.map(({ numbers }) => Math.max(numbers[0], numbers[1])));
    const top = niceTop(most);
    const x = (t) => LEFT + (width - LEFT - RIGHT) * (1 - (end - t) / span);
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
    const line = (which) => path(values.map(({ t, numbers }) => [t, x(t), y(numbers[which])]));
    attribute(this.drawing, "viewBox", `0 0 ${width} ${HEIGHT}`);
    attribute(this.plain, "d", line(0));
    attribute(this.packedLine, "d", line(1));
    attribute(this.packed, "d", area(values.map(({ t, numbers }) => [t, x(t), y(numbers[1])]), y(0)));
    this.drawGrid(width, top, y);
    put(this.empty, most > 0 ? "" : points.length ? "nothing passed in the last five minutes" : "waiting for the first second");
    attribute(this.empty, "x", LEFT + (width - LEFT - RIGHT) / 2);
    attribute(this.cross, "visibility", pointed ? "visible" : "hidden");
    if (pointed) for (const side of ["x1", "x2"]) attribute(this.cross, side, x(pointed.t).toFixed(1));
    put(this.now, this.readings()[0]);
    attribute(this.drawing, "aria-label", `${this.flow.name}: ${summary(values)}. Arrow keys read single seconds.`);
  }

  drawGrid(width, top, y) {
    const minutes = this.all.span / 60000;
    const stamp = `${width} ${top} ${minutes}`;
    if (this.drawn === stamp) return;
    this.drawn = stamp;
    const lines = [0, top / 2, top].flatMap((value) => [
      shape("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      shape("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value ? tick(value) : "0"),
    ]);
    const every = width / minutes < 75 ? 2 : 1;
    const marks = Array.from({ length: minutes + 1 }, (_, ago) => ago).filter((ago) => ago % every === 0);
    const times = marks.map((ago) => {
      const at = width - RIGHT - ((width - LEFT - RIGHT) * ago) / minutes;
      const anchor = ago === 0 ? "end" : ago === minutes ? "start" : "middle";
      return shape("text", { x: at, y: HEIGHT - 5, "text-anchor": anchor }, ago === 0 ? "now" : `−${ago} min`);
    });
    this.grid.replaceChildren(...lines, ...times);
  }
}

/** A line without axes, for the eye alone. */
export function sparkline(drawing, values) {
  const top = Math.max(...values, 0) || 1;
  const step = 100 / Math.max(1, values.length - 1);
  const points = values.map((value, at) => `${(at * step).toFixed(1)},${(23 - (22 * value) / top).toFixed(1)}`);
  attribute(drawing.firstChild, "points", points.join(" "));
}

export function sparklineDrawing() {
  return shape(
    "svg",
    { viewBox: "0 0 100 24", preserveAspectRatio: "none", class: "spark", "aria-hidden": "true" },
    shape("polyline", { "vector-effect": "non-scaling-stroke" }),
  );
}

function path(places) {
  let last = -Infinity;
  return places
    .map(([t, x, y]) => {
      const begin = t - last > GAP_MS ? "M" : "L";
      last = t;
      return `${begin}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}

function area(places, floor) {
  const parts = [];
  for (const place of places) {
    const part = parts.at(-1);
    if (part && place[0] - part.at(-1)[0] <= GAP_MS) part.push(place);
    else parts.push([place]);
  }
  return parts
    .map((part) => `${path(part)}L${part.at(-1)[1].toFixed(1)} ${floor}L${part[0][1].toFixed(1)} ${floor}Z`)
    .join("");
}

/** A round number whose half is round, too. */
function niceTop(most) {
  if (most <= 0) return 1000;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((top) => top >= most);
}

function summary(values) {
  if (!values.length) return "nothing yet";
  const mean = (which) => values.reduce((sum, { numbers }) => sum + numbers[which], 0) / values.length;
  const most = Math.max(...values.map(({ numbers }) => numbers[0]));
  return (
    `on average ${bytes(mean(0))} per second plain, ${bytes(mean(1))} packed, ratio ${ratio(ratioOf(mean(0), mean(1)))}; ` +
    `at most ${bytes(most)} plain`
  );
}
