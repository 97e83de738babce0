// The page: what is selected in words, the theme, and who starts what.

function drawFacts(row) {
  const mark = data.marks[row];
  find("selected-words").textContent = `${named(row)}${mark ? ` (${mark})` : ""}`;
  find("selected-here").replaceChildren(codeOf(named(row)));
  const world = `--world ${worldOf(row)}`;
  const own = optionsOf(row) === "(defaults)" ? "" : optionsOf(row);
  const {program, before, after} = data.command;
  const asked = (verb) => commandLine(
    [program, verb, before, world, after, data.everywhere, own].filter(Boolean).join(" "));
  const numbers = data.columns.filter((column) => column.table)
    .map((column) => `${column.heading} ${shown(column, valueOf(column, row))}`).join(", ");
  find("selected-facts").replaceChildren(...pairs([
    ["numbers", numbers],
    ["check it", asked("check")],
    ["its groups", data.layout.unknown[row] ? "" : asked("layout")],
    ["launch it", data.launch[row] ? commandLine(data.launch[row]) : data.accepted[row] ? "a warning says that it cannot be launched" : ""],
  ]));
}

/** What is accepted and worth knowing of a row. */
function drawWarnings(row) {
  const {texts, of} = data.warnings;
  find("selected-warnings").replaceChildren(...of[row].map((place) => {
    const [label, name, reason, because, source] = texts[place];
    return make("li", {}, make("strong", {}, `${label}: ${name}`), ` ${reason}${because ? ` (${because})` : ""} `,
      make("span", {class: "source"}, source));
  }));
}

function commandLine(text) {
  const button = make("button", {type: "button", class: "control copy"}, "Copy");
  button.addEventListener("click", () => copy(text, button));
  return make("div", {class: "command"}, make("pre", {}, codeOf(text)), button);
}

/** Copy a text; where the browser forbids it, select it so that the reader can. */
async function copy(text, button) {
  const pre = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(pre);
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

/** Only the canvas has colours that the style sheet does not reach. */
function repaint() {
  if (ranks.grouping && !map.hidden) paint();
}

const root = document.documentElement;

function setTheme(value) {
  if (value) root.dataset.theme = value;
  else delete root.dataset.theme;
  repaint();
}

function startTheme() {
  find("theme").addEventListener("change", (event) => setTheme(event.target.value));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
}

/** Print in dark on white, all that is folded too and more rows; then as it was. */
function startPrint() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const each of folded) each.open = true;
    setTheme("light");
    setPrinting(true);
  });
  addEventListener("afterprint", () => {
    for (const each of folded) each.open = false;
    setTheme(find("theme").value);
    setPrinting(false);
  });
}

function start() {
  for (const button of document.querySelectorAll("[data-place]")) {
    button.addEventListener("click", () => {
      select(Number(button.dataset.place));
      find("selected").scrollIntoView({behavior: reduced.matches ? "auto" : "smooth"});
    });
  }
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(find(button.dataset.copy).textContent, button));
  }
  startTable();
  startComparison();
  startTheme();
  startPrint();
  if (selected < 0) {
    find("selected").hidden = true;
    return;
  }
  startRanks();
  for (const redraw of [drawFacts, drawWarnings, drawMemory, drawRanks, drawTimeline]) {
    onSelect(redraw);
    redraw(selected);
  }
}

root.classList.add("ready");
start();
