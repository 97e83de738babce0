// What every part of the page shares: the data, the selected row, and small means to build nodes.

const data = JSON.parse(document.getElementById("data").textContent);
const count = data.marks.length;
const GIB = 2 ** 30;
const find = (id) => document.getElementById(id);

/** An element; attributes that are false are left out, children are nodes or plain text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== ""));
  return element;
}

/** A piece of a command line, whose lines end between words. */
const codeOf = (text) => make("code", {}, ...text.split(" ").flatMap((word, place) =>
  [place ? " " : "", make("span", {}, word)]));

/** Terms and what is said of each, as the children of a dl. */
const pairs = (entries) => entries.filter(([, text]) => text)
  .map(([term, text]) => make("div", {}, make("dt", {}, term), make("dd", {}, text)));

/** A table with a caption; the first cell of a row is its heading. */
function makeTable(caption, headings, rows) {
  const head = make("tr", {}, ...headings.map((text) => make("th", {scope: "col"}, text)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell, place) =>
    place ? make("td", {class: "number"}, cell) : make("th", {scope: "row"}, cell))));
  return make("table", {}, make("caption", {}, caption), make("thead", {}, head),
    make("tbody", {}, ...body));
}

/** A count as the terminal writes it: 3,069. */
const many = (number) => number.toLocaleString("en");

/** Two decimals, ties to even as Python rounds: only odd eighths lie between two hundredths. */
const fixed = (number) => Math.abs((number * 8) % 4) === 1 ? number.toFixed(3).slice(0, -1) : number.toFixed(2);

const gib = (bytes) => `${fixed(bytes / GIB)} GiB`;

/** A column's value of a row: a column that is the same everywhere holds it once. */
const valueOf = (column, row) => Array.isArray(column.values) ? column.values[row] : column.values;

/** The value as the table and the plot show it. */
function shown(column, value) {
  if (value === null) return "-";
  return column.unit === "bytes" ? gib(value) : String(value);
}

/** The value as it is compared and plotted: bytes in GiB. */
const measured = (column, value) =>
  value !== null && column.unit === "bytes" ? value / GIB : value;

const optionsOf = (row) => data.options[row];
const worldOf = (row) => data.worlds[row];
const severalWorlds = new Set(data.worlds).size > 1;

/** A row in words, such as a tooltip has them. */
const named = (row) => severalWorlds ? `${optionsOf(row)} on ${worldOf(row)} GPUs` : optionsOf(row);

// The selected row, and who redraws when it changes.
let selected = count ? 0 : -1;
const redraws = [];
function onSelect(redraw) {
  redraws.push(redraw);
}
function select(row) {
  if (row === selected || row < 0 || row >= count) return;
  selected = row;
  for (const redraw of redraws) redraw(row);
}
