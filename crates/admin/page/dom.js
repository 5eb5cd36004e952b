// Elements. Text is always put as text: what a client calls itself can't become markup.
// Not here: what is shown.

const SVG = "http://www.w3.org/2000/svg";

/** A new element with attributes and children; a child that isn't an element is text. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same in a drawing. */
export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

/** Sets the text of an element that has nothing else, if it is another: what stays the same isn't drawn anew. */
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function attribute(node, name, value) {
  if (value === null || value === undefined) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/**
 * Fills a table's body with rows of cells, each {text, class, title, head, button}. Elements that are there stay, so that
 * focus and selection do, too.
 */
export function rows(body, all) {
  while (body.rows.length > all.length) body.deleteRow(-1);
  all.forEach((cells, index) => {
    let row = body.rows[index];
    if (!row || row.cells.length !== cells.length || [...row.cells].some((cell, at) => kind(cell) !== wanted(cells[at]))) {
      const fresh = element("tr", {}, ...cells.map(blank));
      if (row) row.replaceWith(fresh);
      else body.append(fresh);
      row = fresh;
    }
    cells.forEach((cell, at) => {
      const node = row.cells[at];
      put(cell.button ? node.firstChild : node, cell.text);
      if (cell.button) node.firstChild.onclick = cell.button;
      attribute(node, "class", cell.class);
      attribute(node, "title", cell.title);
      attribute(node, "colspan", cell.span);
    });
  });
}

function blank(cell) {
  const node = cell.head ? element("th", { scope: "row" }) : element("td");
  if (cell.button) node.append(element("button", { type: "button", class: "plainly" }));
  return node;
}

const kind = (cell) => cell.tagName + (cell.firstElementChild ? "+" : "");
const wanted = (cell) => (cell.head ? "TH" : "TD") + (cell.button ? "+" : "");

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
