// The list of connections. The proxy sorts, filters and cuts it, so that it may be as long as it likes.
//
//   a header's button, the filter, the pages ─▶ order ─▶ api/top ─▶ rows
//
// Not here: the stream that says when to ask again (`main`).

import { attribute, byId, element, put, rows } from "./dom.js";
import { bytes, count, percent, rate, ratio, seconds } from "./figures.js";
import { ours } from "./stream.js";

const LIMIT = 50;
const TYPING_MS = 200;

const text = (key) => (row) => ({ text: row[key] ?? "–" });
const number = (write) => (key) => (row) => ({ text: write(row[key]), class: "number" });
const tls = (key) => (row) => ({ text: row[key.replace("leg", "tls")] ? `${row[key]} TLS` : row[key], title: row[key.replace("leg", "tls")] });

/** Key, heading, what it means, cell, the heading above it. What has a number begins with the largest. */
const COLUMNS = [
  ["id", "Id", "wirepress's own id, which KILL takes", (key) => (row) => ({ text: String(row[key]), head: true })],
  ["user", "User", "Account name", text],
  ["host", "Client", "The client's address", text],
  ["database", "Database", "Of the login, or a later COM_INIT_DB", text],
  ["server", "Server", "The server's address", text],
  ["command", "Command", "What runs now", text],
  ["time", "Time", "For how long", number(seconds)],
  ["plain", "Plain", "Plain bytes per second, both directions", number(rate)],
  ["client_leg", "Algorithm", "Algorithm and level; - is none", tls, "Client leg"],
  ["client_packed", "Packed", "Bytes per second on this leg, both directions", number(rate), "Client leg"],
  ["client_ratio", "Ratio", "Plain per packed since the login", number(ratio), "Client leg"],
  ["server_leg", "Algorithm", "Algorithm and level; - is none", tls, "Server leg"],
  ["server_packed", "Packed", "Bytes per second on this leg, both directions", number(rate), "Server leg"],
  ["server_ratio", "Ratio", "Plain per packed since the login", number(ratio), "Server leg"],
  ["cpu", "CPU", "The codec's part of one core", number(percent)],
  ["saved", "Saved", "Bytes that the two legs did not have to carry", number(bytes)],
];
/** How many columns stand under which heading, from the left. */
const GROUPS = [[8, ""], [3, "Client leg"], [3, "Server leg"], [3, ""]];
const ASCENDING = ["user", "host", "database", "server", "command", "client_leg", "server_leg"];

export class Table {
  constructor() {
    this.order = { sort: "plain", order: "desc", filter: "", offset: 0 };
    this.asking = false;
    this.isDue = false;
    this.listeners = [];
    const table = byId("table");
    this.heads = COLUMNS.map((column) => this.head(...column));
    const last = element("th", { scope: "col" }, "Last decision");
    table.append(
      element("caption", { class: "unseen" }, "Open connections. The buttons in the headings sort."),
      ...GROUPS.map(([span]) => element("colgroup", { span })),
      element("thead", {}, element("tr", {}, ...GROUPS.map(group)), element("tr", {}, ...this.heads.map(({ node }) => node), last)),
      element("tbody"),
    );
    this.body = table.tBodies[0];
    byId("previous").addEventListener("click", () => this.turn(-LIMIT));
    byId("next").addEventListener("click", () => this.turn(LIMIT));
    let typing = 0;
    byId("filter").addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.ask({ filter: byId("filter").value, offset: 0 }), TYPING_MS);
    });
    this.showSort();
  }

  head(key, name, meaning, cell, above) {
    const button = element("button", { type: "button", title: meaning }, name, element("span", { "aria-hidden": "true" }));
    if (above) button.setAttribute("aria-label", `${above}, ${name}`);
    button.addEventListener("click", () => this.sortBy(key));
    const node = element("th", { scope: "col", class: ASCENDING.includes(key) ? "" : "number" }, button);
    return { key, button, node, cell: cell(key) };
  }

  sortBy(key) {
    const first = ASCENDING.includes(key) ? "asc" : "desc";
    const turned = this.order.order === "asc" ? "desc" : "asc";
    this.ask({ sort: key, order: this.order.sort === key ? turned : first, offset: 0 });
    this.showSort();
  }

  showSort() {
    for (const { key, node, button } of this.heads) {
      const isSorted = key === this.order.sort;
      const isUp = this.order.order === "asc";
      attribute(node, "aria-sort", isSorted ? (isUp ? "ascending" : "descending") : "none");
      put(button.lastChild, isSorted ? (isUp ? " ▲" : " ▼") : "");
    }
  }

  turn(by) {
    this.ask({ offset: Math.max(0, this.order.offset + by) });
  }

  /** Asks for the list, with this changed. One question at a time; what comes meanwhile is asked after it. */
  async ask(change = {}) {
    Object.assign(this.order, change);
    if (this.asking) {
      this.isDue = true;
      return;
    }
    this.asking = true;
    this.isDue = false;
    try {
      const url = ours("api/top");
      url.search = new URLSearchParams({ ...this.order, limit: LIMIT });
      const answer = await fetch(url, { signal: AbortSignal.timeout(5000) });
      if (answer.ok) this.draw(await answer.json());
    } catch {
      // The stream tells that the connection is lost.
    } finally {
      this.asking = false;
      if (this.isDue) this.ask();
    }
  }

  draw(top) {
    // Connections ended, and this page of the list with them.
    if (top.offset > 0 && top.offset >= top.matching) {
      this.order.offset = Math.max(0, Math.floor((top.matching - 1) / LIMIT) * LIMIT);
      this.isDue = true;
    }
    put(byId("count"), top.matching === top.open ? `${count(top.open)} open` : `${count(top.matching)} of ${count(top.open)} open`);
    const last = top.offset + top.rows.length;
    byId("pager").hidden = top.matching <= LIMIT;
    put(byId("page"), `${count(top.offset + 1)} to ${count(last)} of ${count(top.matching)}`);
    byId("previous").disabled = top.offset === 0;
    byId("next").disabled = last >= top.matching;
    if (top.rows.length) {
      rows(this.body, top.rows.map((row) => [...this.heads.map(({ cell }) => cell(row)), decision(row.decisions)]));
    } else {
      rows(this.body, [[{ text: this.nothing(top), class: "none", span: COLUMNS.length + 1 }]]);
    }
  }

  nothing(top) {
    if (top.open > 0) return `None of the ${count(top.open)} connections has all of these words.`;
    const where = this.listeners.length ? ` Connect a client to ${this.listeners.join(" or ")}.` : "";
    return `No client is connected.${where}`;
  }
}

const group = ([span, name]) => (name ? element("th", { scope: "colgroup", colspan: span }, name) : element("td", { colspan: span }));

function decision([toServer, toClient]) {
  const words = (made) => made && `${made[0]}: ${made[1]}`;
  const all = [toClient && `To the client: ${words(toClient)}`, toServer && `To the server: ${words(toServer)}`];
  return { text: words(toClient) ?? words(toServer) ?? "–", class: "words", title: all.filter(Boolean).join("\n") || null };
}
