// The table: sorted, filtered and paged over indices, so that only one page of rows is in the DOM.

const tableColumns = data.columns.filter((column) => column.table);
const table = find("table");
const order = {column: null, down: false};
const filters = new Map(); // by column; what a row's value must satisfy
const unread = new Set();  // columns whose filter is not understood
let visible = [];          // rows that pass the filters, in the chosen order
let page = 0;
const whenFiltered = [];   // who redraws when the visible rows change

const marked = {name: "mark", heading: "is", kind: "text", values: data.marks,
  about: "What the configuration is to the question."};
const optionColumn = {name: "options", heading: "options", kind: "text", values: data.options,
  about: "Options by which the configuration differs from the others."};
const headings = [marked, optionColumn, ...tableColumns];

const NUMBER = "(-?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\\.[0-9]+)?|\\.[0-9]+))\\s*(KiB|MiB|GiB|TiB)?";
const COMPARED = new RegExp(`^([<>=!]\\s*=|[<>=])?\\s*${NUMBER}$`, "i");
const RANGE = new RegExp(`^(?:${NUMBER})?\\s*\\.\\.\\s*(?:${NUMBER})?$`, "i");
const UNITS = {kib: 2 ** -20, mib: 2 ** -10, gib: 1, tib: 2 ** 10}; // in GiB
const RELATIONS = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
  "=": (a, b) => a === b, "==": (a, b) => a === b, "!=": (a, b) => a !== b,
};

/** A test of a column's values, or null for text that is none. */
function testOf(column, text) {
  if (column.kind === "text") {
    const wanted = text.toLowerCase();
    return (value) => value !== null && String(value).toLowerCase().includes(wanted);
  }
  const bytes = column.unit === "bytes";
  const size = (number, unit = "GiB") => Number(number.replaceAll(",", "")) * UNITS[unit.toLowerCase()];
  const range = RANGE.exec(text);
  if (range) {
    const [, first, unit, last, lastUnit] = range;
    if (!(first || last) || (!bytes && (unit || lastUnit))) return null;
    const low = first ? size(first, unit ?? lastUnit) : -Infinity, high = last ? size(last, lastUnit ?? unit) : Infinity;
    return (value) => value !== null && value >= low && value <= high;
  }
  const [, said = "=", number, unit] = COMPARED.exec(text) ?? [];
  if (!number || (unit && !bytes)) return null;
  const relation = said.replace(/\s/, "");
  // what is shown has two decimals: equal means shown alike
  const round = bytes && /^!?==?$/.test(relation) ? (value) => Number(fixed(value)) : (value) => value;
  const wanted = round(size(number, unit));
  return (value) => value !== null && RELATIONS[relation](round(value), wanted);
}

/** What must occur in a row, each by itself: an option with its value, or a word. */
const phrasesOf = (text) => text.toLowerCase().match(/[^\s\d][^\s]*\s+\d+(?!\S)|\S+/g)
  ?.map((phrase) => phrase.replace(/\s+/, " ")) ?? [];

/** A phrase with a value is found whole: "ep 4" neither in "--etp 4" nor in "--ep 48". */
function matchesText(row, phrases) {
  const text = ` ${optionsOf(row)} ${data.marks[row]} `.toLowerCase();
  return phrases.every((phrase) => phrase.includes(" ")
    ? [" ", " --"].some((start) => text.includes(`${start}${phrase} `)) : text.includes(phrase));
}

function refilter() {
  const phrases = phrasesOf(find("filter-text").value);
  visible = [];
  for (let row = 0; row < count; row += 1) {
    let kept = matchesText(row, phrases);
    for (const [column, test] of filters) {
      kept = kept && test(measured(column, valueOf(column, row)));
    }
    if (kept) visible.push(row);
  }
  resort();
  for (const redraw of whenFiltered) redraw();
}

/** Numbers by size, texts by their letters, blanks last; rows that are alike keep their order. */
function resort() {
  const {column, down} = order;
  if (column === null) {
    visible.sort((a, b) => a - b);
  } else {
    const sign = down ? -1 : 1;
    visible.sort((a, b) => {
      const x = valueOf(column, a), y = valueOf(column, b);
      if (x === y) return a - b;
      if (x === null || x === "") return 1;
      if (y === null || y === "") return -1;
      return sign * (x < y ? -1 : 1);
    });
  }
  page = 0;
  drawRows();
}

const MOST_PRINTED = 200;
let printing = false;

const pageSize = () => printing ? MOST_PRINTED : Number(find("page-size").value);

/** Paper has the first rows, more than a page of the screen. */
function setPrinting(value) {
  printing = value;
  showPage(0);
}

const pages = () => Math.max(1, Math.ceil(visible.length / pageSize()));

function drawRows() {
  const from = page * pageSize();
  const rows = visible.slice(from, from + pageSize());
  const current = rows.includes(selected) ? selected : rows[0];
  const nothing = () => make("tr", {}, make("td", {colspan: headings.length}, count ? "nothing matches" : "no configuration"));
  table.tBodies[0].replaceChildren(...(rows.length ? rows.map((row) => drawRow(row, row === current)) : [nothing()]));
  table.setAttribute("aria-rowcount", visible.length + 2);
  const all = count === visible.length ? many(count) : `${many(visible.length)} of ${many(count)}`;
  const part = rows.length < visible.length ? `, rows ${many(from + 1)} to ${many(from + rows.length)} shown` : "";
  const ignored = [...unread].map((column) => `; filter of ${column.heading} not understood, ignored`).join("");
  find("table-status").textContent = `${all} configuration${count === 1 ? "" : "s"} in the table${part}${ignored}` +
    (data.everywhere ? `; all with ${data.everywhere}` : "");
  find("page-number").textContent = `Page ${many(page + 1)} of ${many(pages())}`;
  find("previous-page").disabled = page === 0;
  find("next-page").disabled = page + 1 >= pages();
}

/** A row: one of them can be reached by the tab key, the others by arrow keys. */
function drawRow(row, reachable) {
  const cells = headings.map((column) => {
    const value = valueOf(column, row);
    if (column === optionColumn) return make("th", {scope: "row"}, codeOf(value));
    if (column === marked) return make("td", {}, value ? make("span", {class: `mark ${value.replace(" ", "-")}`}, value) : "");
    const kind = column.kind === "number" ? "number" : "";
    return make("td", {class: `${kind} ${memoryState(column, row)}`.trim()}, shown(column, value));
  });
  return make("tr", {
    "data-row": row, tabindex: reachable ? "0" : "-1", "aria-selected": String(row === selected),
    "aria-rowindex": visible.indexOf(row) + 3,
  }, ...cells);
}

/** Whether a total of memory fits, is near or over the limit. */
const memoryState = (column, row) =>
  column.name === data.memory.total ? data.memory.states[row] ?? "" : "";

function drawHead() {
  const sorts = headings.map((column) => {
    const button = make("button", {type: "button", title: column.about || column.heading}, column.heading);
    button.addEventListener("click", () => sortBy(column));
    return make("th", {scope: "col", "data-column": column.name, "aria-sort": "none",
      class: column.kind === "number" ? "number" : ""}, button);
  });
  const inputs = headings.map((column) => {
    if (column === optionColumn) return make("td", {});
    const example = column.kind === "number" ? ">= 4" : "text";
    const input = make("input", {type: "text", placeholder: example, autocomplete: "off", size: "4",
      spellcheck: "false", "data-filter": column.name,
      "aria-label": `Filter ${column.heading}${column.unit === "bytes" ? " in GiB" : ""}, such as ${example}`});
    input.addEventListener("input", () => filterBy(column, input));
    return make("td", {}, input);
  });
  table.tHead.replaceChildren(make("tr", {}, ...sorts), make("tr", {class: "control"}, ...inputs));
}

/** First up, then down, then the first order again. */
function sortBy(column) {
  const again = order.column === column;
  order.column = again && order.down ? null : column;
  order.down = again && !order.down;
  for (const cell of table.tHead.rows[0].cells) {
    const mine = order.column && cell.dataset.column === order.column.name;
    cell.setAttribute("aria-sort", mine ? (order.down ? "descending" : "ascending") : "none");
  }
  resort();
}

function filterBy(column, input) {
  const text = input.value.trim();
  const test = text && testOf(column, text);
  input.setAttribute("aria-invalid", String(test === null));
  if (test === null) unread.add(column);
  else unread.delete(column);
  if (test) filters.set(column, test);
  else filters.delete(column);
  refilter();
}

function showPage(number) {
  page = Math.min(Math.max(number, 0), pages() - 1);
  drawRows();
}

/** Bring a row's page to the front, unless filters hide it; whether they do not. */
function turnTo(row) {
  const place = visible.indexOf(row);
  if (place < 0) return false;
  const wanted = Math.floor(place / pageSize());
  if (wanted !== page) showPage(wanted);
  return true;
}

const MOVES = {ArrowDown: 1, ArrowUp: -1};

/** Where a key leads from a place in the table, or nothing. */
function destination(key, place) {
  if (key in MOVES) return place + MOVES[key];
  if (key === "Home") return 0;
  if (key === "End") return visible.length - 1;
  if (key === "PageDown") return place + pageSize();
  if (key === "PageUp") return place - pageSize();
  return undefined;
}

function focusPlace(place) {
  const row = visible[Math.min(Math.max(place, 0), visible.length - 1)];
  turnTo(row);
  for (const each of table.tBodies[0].rows) {
    const mine = Number(each.dataset.row) === row;
    each.tabIndex = mine ? 0 : -1;
    if (mine) each.focus();
  }
}

function onTableKey(event) {
  const line = event.target.closest("tbody tr");
  if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = Number(line.dataset.row);
  const place = destination(event.key, visible.indexOf(row));
  if (place !== undefined) {
    event.preventDefault();
    focusPlace(place);
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    select(row);
  }
}

function startTable() {
  drawHead();
  table.addEventListener("keydown", onTableKey);
  table.tBodies[0].addEventListener("click", (event) => {
    const line = event.target.closest("tr[data-row]");
    if (line) select(Number(line.dataset.row));
  });
  find("filters").addEventListener("submit", (event) => event.preventDefault());
  find("filters").addEventListener("reset", () => {
    filters.clear();
    unread.clear();
    for (const input of table.tHead.querySelectorAll("input")) {
      input.value = "";
      input.removeAttribute("aria-invalid");
    }
    setTimeout(refilter);
  });
  find("filter-text").addEventListener("input", refilter);
  find("page-size").addEventListener("change", () => showPage(0));
  find("previous-page").addEventListener("click", () => showPage(page - 1));
  find("next-page").addEventListener("click", () => showPage(page + 1));
  onSelect((row) => {
    turnTo(row);
    for (const line of table.tBodies[0].rows) {
      const mine = Number(line.dataset.row) === row;
      line.setAttribute("aria-selected", String(mine));
      line.tabIndex = mine ? 0 : -1;
    }
  });
  refilter();
}
