// The page: what comes by the stream goes to its parts.
//
//   stream ─▶ points, state, decisions ─▶ tiles, charts, panels
//                                     └─▶ table, which asks for its rows itself
//
// Not here: drawing.

import { byId, put } from "./dom.js";
import { Charts } from "./chart.js";
import { Tiles, drawAbout, drawDecisions, drawFaults, drawFigures, drawLinks, drawScopes } from "./panels.js";
import { listen } from "./stream.js";
import { Table } from "./table.js";
import { clock } from "./figures.js";
import * as theme from "./theme.js";

const told = { points: [], decisions: [], state: null, sessions: {}, prices: [null, null], history_max: 300 };
const DECISIONS_MAX = 100;
const STATES = {
  live: "Live",
  paused: "Paused",
  lost: "Connection lost, trying again",
  refused: "Refused, trying again",
  hidden: "Resting",
};
const WHY = {
  lost: "The proxy does not answer; the page goes on when it does.",
  refused: "The proxy refuses this page: too many are open, or the password is another now. Close one, or load the page again.",
};
let isPaused = false;
let lostSince = null;

theme.start();
const charts = new Charts(byId("charts"));
const tiles = new Tiles(byId("tiles"));
const table = new Table();
let figuresDrawn = 0;

function choose(scope) {
  charts.scope = scope;
  figuresDrawn = 0;
  draw();
}

function draw() {
  const { points, state, decisions } = told;
  if (!state) return;
  charts.points = points;
  charts.span = span(points);
  table.listeners = state.listeners;
  drawScopes(byId("scope"), scopes(points), charts.scope);
  tiles.draw(points, charts.scope, state, told.prices);
  charts.draw();
  drawDecisions(byId("decisions"), decisions);
  drawLinks(byId("links"), points.at(-1), told, choose);
  drawFaults(byId("faults"), state);
  drawAbout(state);
  // Whoever reads a table doesn't want it to move every second.
  if (byId("figures").open && Date.now() - figuresDrawn > 15000) {
    drawFigures(byId("figures-table"), points, charts.scope);
    figuresDrawn = Date.now();
  }
}

/** Whole minutes, as many as there are to be shown. */
function span(points) {
  const ms = points.length ? points.at(-1).t - points[0].t : 0;
  return Math.max(1, Math.min(Math.ceil(ms / 60000), told.history_max / 60)) * 60000;
}

function scopes(points) {
  return [...new Set(points.slice(-60).flatMap((point) => Object.keys(point.flows)))];
}

function hear(name, value) {
  if (name === "hello") {
    Object.assign(told, value, { points: value.history });
    put(byId("version"), value.version);
  } else {
    told.points = [...told.points, value.point].slice(-told.history_max);
    told.decisions = [...told.decisions, ...value.decisions].slice(-DECISIONS_MAX);
    told.state = value.state;
    told.sessions = value.sessions;
  }
  if (isPaused) return;
  draw();
  table.ask();
}

function change(state) {
  const isLost = state === "lost" || state === "refused";
  if (isLost) lostSince ??= Date.now();
  else lostSince = null;
  const live = byId("live");
  live.dataset.state = state === "live" && isPaused ? "paused" : state;
  put(live, STATES[state === "live" && isPaused ? "paused" : state]);
  byId("lost").hidden = !isLost;
  if (isLost) put(byId("lost"), `${WHY[state]} What is shown is of ${clock(lostSince)}.`);
  document.body.classList.toggle("stale", isLost);
}

byId("scope").addEventListener("change", (event) => choose(event.target.value));
byId("figures").addEventListener("toggle", () => {
  figuresDrawn = 0;
  draw();
});
byId("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", isPaused);
  if (!lostSince) change("live");
  if (!isPaused) {
    draw();
    table.ask();
  }
});
listen(hear, change);
