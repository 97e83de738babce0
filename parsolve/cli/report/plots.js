// What the plots share, and the comparison of two quantities.

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
const tooltip = find("tooltip");

/** Plain text beside the pointer: whatever it says, it is no markup. */
function showTip(text, event) {
  tooltip.hidden = !text;
  if (!text) return;
  tooltip.textContent = text;
  const {offsetWidth: width, offsetHeight: height} = tooltip;
  const left = Math.min(event.clientX + 14, innerWidth - width - 8);
  const below = event.clientY + 14 + height < innerHeight;
  tooltip.style.left = `${Math.max(8, left)}px`;
  tooltip.style.top = `${below ? event.clientY + 14 : Math.max(8, event.clientY - height - 14)}px`;
}

const handler = (_view, event, _item, value) => showTip(value ? String(value) : "", event);

/** Draw a specification into a node, with its data by name; a later drawing wins. */
const drawings = new WeakMap();
const ROW = 26;

function undraw(node) {
  const {number = 0, result} = drawings.get(node) ?? {};
  result?.finalize();
  drawings.set(node, {number: number + 1, empty: true});
  node.replaceChildren();
}

async function draw(node, spec, sets) {
  const number = (drawings.get(node)?.number ?? 0) + 1;
  drawings.get(node)?.result?.finalize();
  drawings.set(node, {number});
  const layers = spec.layer.filter((layer) => !layer.data || sets[layer.data.name].length);
  const result = await vegaEmbed(node, {...spec, layer: layers}, {
    actions: false, ast: true, defaultStyle: false, renderer: "svg", tooltip: handler,
    patch: (vega) => withData(vega, sets),
  });
  if (drawings.get(node).number !== number) {
    result.finalize();
    if (drawings.get(node).empty) node.replaceChildren();
    return null;
  }
  drawings.set(node, {number, result});
  return result.view;
}

function withData(vega, sets) {
  for (const set of vega.data) {
    if (set.name in sets) set.values = sets[set.name];
  }
  return vega;
}

// --- the comparison ---

const plotted = data.columns.filter((column) => column.kind === "number");
const axes = {x: null, y: null};

function startComparison() {
  if (plotted.length < 2 || !count) {
    find("comparison").querySelector("form").hidden = true;
    find("front-details").hidden = true;
    find("plot").replaceChildren(make("p", {}, "There are no two numbers that differ between configurations."));
    return;
  }
  const wanted = firstAxes();
  for (const axis of ["x", "y"]) {
    const choice = find(`plot-${axis}`);
    choice.replaceChildren(...plotted.map((column, place) => make("option", {value: place}, headingOf(column))));
    choice.addEventListener("change", () => chooseAxis(axis, plotted[Number(choice.value)]));
    find(`plot-${axis}-less`).addEventListener("change", drawComparison);
    choice.value = plotted.indexOf(wanted[axis]);
    chooseAxis(axis, wanted[axis], false);
  }
  whenFiltered.push(drawSoon);
  onSelect(markSelected);
  drawComparison();
}

const PAUSE = 150;
let waiting = 0;

/** Once the reader pauses: typing a filter must not wait for thousands of points. */
function drawSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(drawComparison, PAUSE);
}

const headingOf = (column) => column.unit === "bytes" ? `${column.heading} (GiB)` : column.heading;

/** The objectives; where there is but one, against memory or else what differs first. */
function firstAxes() {
  const named = (name) => plotted.find((column) => column.name === name);
  const goals = data.objectives.map((goal) => named(goal.name)).filter(Boolean);
  const differs = plotted.filter((column) => Array.isArray(column.values));
  const memory = differs.find((column) => column.name === data.memory.total);
  const world = differs.find((column) => column.name === data.world);
  const axis = differs.find((column) => column.table && !goals.includes(column));
  const [first, second] = [...new Set([...goals, memory, world, named(data.objective), axis, ...differs, ...plotted].filter(Boolean))];
  return goals.length > 1 ? {x: first, y: second} : {x: second, y: first};
}

function chooseAxis(axis, column, redraw = true) {
  axes[axis] = column;
  const goal = data.objectives.find((each) => each.name === column.name);
  find(`plot-${axis}-less`).value = (goal ? goal.less : column.less) ? "less" : "";
  if (redraw) drawComparison();
}

const wantsLess = (axis) => find(`plot-${axis}-less`).value === "less";

/** Places of visible rows; configurations at the same one are one point. */
function places() {
  const found = new Map();
  for (const row of [...visible].sort((a, b) => a - b)) {
    const x = measured(axes.x, valueOf(axes.x, row)), y = measured(axes.y, valueOf(axes.y, row));
    if (x === null || y === null) continue;
    const key = `${x} ${y}`;
    if (!found.has(key)) found.set(key, {x, y, rows: []});
    found.get(key).rows.push(row);
  }
  return [...found.values()];
}

/** Points that no other beats in both directions, along the first. */
function front(points) {
  const signX = wantsLess("x") ? 1 : -1, signY = wantsLess("y") ? 1 : -1;
  const valid = points.filter((point) => point.rows.some((row) => data.accepted[row]));
  valid.sort((a, b) => signX * (a.x - b.x) || signY * (a.y - b.y));
  let best = Infinity;
  return valid.filter((point) => {
    const better = signY * point.y < best;
    if (better) best = signY * point.y;
    return better;
  });
}

const MOST_NAMES = 5;

function wordsOf(point) {
  const names = point.rows.slice(0, MOST_NAMES).map(named);
  if (point.rows.length > MOST_NAMES) names.push(`and ${many(point.rows.length - MOST_NAMES)} more`);
  return [`${headingOf(axes.x)} ${shownNumber(point.x)}, ${headingOf(axes.y)} ${shownNumber(point.y)}`, ...names].join("\n");
}

/** Sizes that double lie evenly apart on a logarithmic scale. */
function scaleOf(points, axis) {
  const values = points.map((point) => point[axis]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const doubles = axes[axis].unit !== "bytes" && low > 0 && high >= 8 * low;
  return doubles ? {type: "log", base: 2, nice: false} : {zero: false};
}

/** Numbers of something have no fractions. */
const stepOf = (axis) => axes[axis].unit === "bytes" ? 0 : 1;

let comparisonView = null;

async function drawComparison() {
  const points = places();
  const best = new Set(front(points));
  for (const point of points) {
    point.kind = best.has(point) ? "front" : data.accepted[point.rows[0]] ? "valid" : "rejected";
    point.words = wordsOf(point);
    point.row = point.rows[0];
  }
  drawFrontTable([...best]);
  if (!points.length) {
    comparisonView = null;
    undraw(find("plot"));
    find("plot-legend").textContent = visible.length
      ? "Nothing to draw: no configuration in the table has both quantities."
      : "Nothing to draw: nothing matches the filters.";
    return;
  }
  const ways = {x: scaleOf(points, "x"), y: scaleOf(points, "y")};
  const spec = JSON.parse(JSON.stringify(data.specs.comparison), (key, value) =>
    key in axes && value?.field === key
      ? {...value, title: headingOf(axes[key]), scale: ways[key], axis: {...value.axis, tickMinStep: stepOf(key)}} : value);
  const bound = (axis) => axes[axis].name === data.memory.total && data.memory.limit
    ? [{at: data.memory.limit / GIB}] : [];
  points.sort((a, b) => best.has(a) - best.has(b)); // the front is drawn last, so that it is seen
  const sets = {points, limits_x: bound("x"), limits_y: bound("y"), selected: placeOfSelected()};
  const view = await draw(find("plot"), spec, sets);
  if (!view) return;
  comparisonView = view;
  view.addEventListener("click", (_event, item) => {
    if (item?.datum?.row !== undefined) select(item.datum.row);
  });
  const limit = bound("x").length || bound("y").length ? " The dashed line is the memory of the GPU." : "";
  find("plot-legend").textContent = `${many(points.length)} place${points.length === 1 ? "" : "s"} of ` +
    `${many(visible.length)} configuration${visible.length === 1 ? "" : "s"}; diamonds are the Pareto front ` +
    `(${many(best.size)}), a ring marks the selected configuration.${limit} Hover names them, a click selects one.`;
}

function placeOfSelected() {
  if (selected < 0) return [];
  const x = measured(axes.x, valueOf(axes.x, selected)), y = measured(axes.y, valueOf(axes.y, selected));
  return x === null || y === null ? [] : [{x, y}];
}

function markSelected() {
  const place = placeOfSelected();
  if (place.length && comparisonView?.data("selected")?.length) comparisonView.data("selected", place).runAsync();
  else drawComparison();
}

function drawFrontTable(points) {
  const rows = points.map((point) => [named(point.row), shownNumber(point.x), shownNumber(point.y), many(point.rows.length)]);
  find("front-table").replaceChildren(makeTable("No valid configuration of the table beats one of these in both quantities",
    ["configuration", headingOf(axes.x), headingOf(axes.y), "as good"], rows));
}

const shownNumber = (value) => Number.isInteger(value) ? String(value) : fixed(value);
