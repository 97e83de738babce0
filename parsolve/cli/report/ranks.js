// Which GPU is in which group: computed here from the profile's own formulas, drawn on a canvas.

const MOST_DRAWN = 16384;
const map = find("ranks-map");
const ranks = {groupings: [], grouping: null, wanted: "", rank: 0, world: 0};

/** Values that the groups of a row are made of. */
const knownOf = (row) => ({...data.layout.base, ...data.layout.changed[row]});
const oneOf = (values, row) => Array.isArray(values) ? values[row] : values;

function drawRanks(row) {
  const words = find("ranks-words");
  const why = data.layout.unknown[row];
  ranks.groupings = !why ? groupingsOf(knownOf(row)).filter((each) => each.holds) : [];
  ranks.world = worldOf(row);
  ranks.traffic = data.layout.traffic[row];
  ranks.node = oneOf(data.layout.nodes, row) || ranks.world;
  ranks.domain = oneOf(data.layout.domains, row) || ranks.node;
  const has = ranks.groupings.length > 0;
  for (const node of [find("ranks-form"), map, find("ranks-group"), find("ranks-help")]) node.hidden = !has;
  if (!has) {
    words.textContent = `No groups are shown: ${why || "every rank stands alone"}.`;
    return;
  }
  ranks.grouping = ranks.groupings.find((each) => each.name === ranks.wanted) ?? firstGrouping();
  const choice = find("ranks-axis");
  choice.replaceChildren(...ranks.groupings.map((each) =>
    make("option", {value: each.name}, `${each.name}: ${many(each.count)} of ${many(each.size)}`)));
  choice.value = ranks.grouping.name;
  find("ranks-rank").max = ranks.world - 1;
  ranks.rank = Math.min(ranks.rank, ranks.world - 1);
  sayGrouping();
  layOut();
  showRank(ranks.rank);
}

/** The groups that split the ranks most finely without being trivial. */
function firstGrouping() {
  return ranks.groupings.find((each) => each.size > 1 && each.count > 1) ?? ranks.groupings[0];
}

function sayGrouping() {
  const {grouping: g, world} = ranks;
  const nodes = Math.ceil(world / ranks.node), domains = Math.ceil(world / ranks.domain);
  const part = world > MOST_DRAWN ? ` The map shows the first ${many(MOST_DRAWN)} ranks; any rank can be asked for.` : "";
  const sent = ranks.traffic[g.name];
  const sends = sent === undefined ? "" : ` A GPU sends ${gib(sent)} in it per optimizer step.`;
  find("ranks-words").textContent = `${g.name}: ${g.about} ${many(g.count)} group${g.count === 1 ? "" : "s"} of ${many(g.size)} on ` +
    `${world} GPUs, ${nodes} node${nodes === 1 ? "" : "s"}, ${domains} NVLink domain${domains === 1 ? "" : "s"}.${sends}${part}`;
}

/** Where each GPU's square is: nodes side by side, each in rows of at most eight. */
function layOut() {
  const drawn = Math.min(ranks.world, MOST_DRAWN);
  const width = Math.max(280, map.parentElement.clientWidth);
  const cell = drawn <= 64 ? 34 : drawn <= 256 ? 26 : drawn <= 1024 ? 18 : drawn <= 4096 ? 12 : 8;
  const across = Math.min(8, ranks.node), label = cell >= 18 ? 16 : 0, pad = cell >= 12 ? 6 : 3;
  const rows = Math.ceil(ranks.node / across);
  const box = {width: across * cell + 2 * pad, height: rows * cell + 2 * pad + label};
  const gap = cell >= 12 ? 8 : 4;
  const columns = Math.max(1, Math.floor((width + gap) / (box.width + gap)));
  const nodes = Math.ceil(drawn / ranks.node);
  Object.assign(ranks, {drawn, cell, across, label, pad, box, gap, columns, nodes});
  const height = Math.ceil(nodes / columns) * (box.height + gap);
  const full = Math.min(nodes, columns) * (box.width + gap);
  const ratio = devicePixelRatio || 1;
  map.width = Math.ceil(full * ratio);
  map.height = Math.ceil(height * ratio);
  map.style.width = `${full}px`;
  map.style.height = `${height}px`;
  map.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
}

function boxOf(node) {
  const {box, gap, columns} = ranks;
  return {x: (node % columns) * (box.width + gap), y: Math.floor(node / columns) * (box.height + gap)};
}

function squareOf(rank) {
  const {node, across, cell, pad, label} = ranks;
  const {x, y} = boxOf(Math.floor(rank / node));
  const local = rank % node;
  return {x: x + pad + (local % across) * cell, y: y + pad + label + Math.floor(local / across) * cell};
}

/** The rank at a place of the canvas, or -1. */
function rankAt(x, y) {
  const {box, gap, columns, cell, across, pad, label, node, drawn} = ranks;
  const column = Math.floor(x / (box.width + gap)), line = Math.floor(y / (box.height + gap));
  const inX = x - column * (box.width + gap) - pad, inY = y - line * (box.height + gap) - pad - label;
  const atX = Math.floor(inX / cell), atY = Math.floor(inY / cell);
  if (column >= columns || inX < 0 || inY < 0 || atX >= across) return -1;
  const local = atY * across + atX, rank = (line * columns + column) * node + local;
  return local < node && rank < drawn ? rank : -1;
}

const SHADES = 8;
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function paint() {
  const {grouping: g, rank, drawn, cell, box, label, nodes, domain, node} = ranks;
  const context = map.getContext("2d");
  const mine = g.index(rank);
  const shades = Array.from({length: SHADES}, (_, index) => style(`--group-${index}`));
  const text = style("--text"), muted = style("--muted"), line = style("--line"), on = style("--on-group");
  context.clearRect(0, 0, map.width, map.height);
  context.textBaseline = "middle";
  for (let each = 0; each < nodes; each += 1) {
    const {x, y} = boxOf(each);
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, box.width - 1, box.height - 1);
    if (label) {
      context.fillStyle = muted;
      context.font = "11px system-ui, sans-serif";
      context.textAlign = "left";
      const inside = domain >= node && domain < ranks.world ? ` · domain ${Math.floor(each * node / domain)}` : "";
      const words = `node ${each}${inside}`;
      context.fillText(context.measureText(words).width < box.width - 8 ? words : `${each}`, x + 5, y + 11);
    }
  }
  for (let each = 0; each < drawn; each += 1) {
    const {x, y} = squareOf(each);
    const index = g.index(each), inGroup = index === mine;
    context.globalAlpha = inGroup ? 1 : 0.3;
    context.fillStyle = shades[index % SHADES];
    context.fillRect(x + 1, y + 1, cell - 2, cell - 2);
    context.globalAlpha = 1;
    if (inGroup) {
      context.strokeStyle = text;
      context.lineWidth = each === rank ? 3 : 1.5;
      context.strokeRect(x + 1.5, y + 1.5, cell - 3, cell - 3);
    }
    if (cell >= 18) {
      context.fillStyle = inGroup ? on : muted;
      context.font = `${inGroup ? "600 " : ""}${cell >= 26 ? 11 : 9}px system-ui, sans-serif`;
      context.textAlign = "center";
      context.fillText(String(each), x + cell / 2, y + cell / 2 + 0.5);
    }
    if (domain < node && each % domain === 0 && each % node !== 0) {
      context.fillStyle = text;
      context.fillRect(x - 0.5, y, 1, cell);
    }
  }
}

/** Where a rank is: on which node, in which domain, in which group. */
function placeWords(rank) {
  const {grouping: g, node, domain} = ranks;
  return `Rank ${rank}: node ${Math.floor(rank / node)}, NVLink domain ${Math.floor(rank / domain)}; ` +
    `${g.name} group ${g.index(rank)}, position ${g.position(rank)}`;
}

const MOST_MEMBERS = 64;

/** Blocks of so many ranks in which a group has members; no member is kept. */
function spanOf(g, index, width) {
  const blocks = new Set();
  for (let place = 0; place < g.size; place += 1) blocks.add(Math.floor(g.member(index, place) / width));
  return blocks.size;
}

function showRank(rank) {
  const {grouping: g} = ranks;
  ranks.rank = rank;
  find("ranks-rank").value = rank;
  const index = g.index(rank);
  const members = Array.from({length: Math.min(g.size, MOST_MEMBERS)}, (_, place) => g.member(index, place));
  const more = g.size > MOST_MEMBERS ? ` and ${many(g.size - MOST_MEMBERS)} more` : "";
  const spread = (width) => spanOf(g, index, width);
  const nodes = spread(ranks.node), domains = spread(ranks.domain);
  find("ranks-group").textContent = `${placeWords(rank)}. Members: ${members.join(", ")}${more}. ` +
    `The group spans ${nodes} node${nodes === 1 ? "" : "s"} and ${domains} NVLink domain${domains === 1 ? "" : "s"}.`;
  paint();
}

const STEPS = {ArrowRight: () => 1, ArrowLeft: () => -1, ArrowDown: () => ranks.across, ArrowUp: () => -ranks.across,
  PageDown: () => ranks.node, PageUp: () => -ranks.node};

function startRanks() {
  map.addEventListener("pointermove", (event) => {
    const rank = rankAt(event.offsetX, event.offsetY);
    if (rank >= 0 && rank !== ranks.rank) showRank(rank);
    showTip(rank >= 0 ? placeWords(rank) : "", event);
  });
  map.addEventListener("pointerleave", (event) => showTip("", event));
  map.addEventListener("pointerdown", (event) => {
    const rank = rankAt(event.offsetX, event.offsetY);
    if (rank >= 0) showRank(rank);
  });
  map.addEventListener("keydown", (event) => {
    const last = ranks.world - 1;
    const to = event.key === "Home" ? 0 : event.key === "End" ? last
      : event.key in STEPS ? ranks.rank + STEPS[event.key]() : undefined;
    if (to === undefined) return;
    event.preventDefault();
    showRank(Math.min(Math.max(to, 0), last));
  });
  find("ranks-axis").addEventListener("change", (event) => {
    ranks.wanted = event.target.value;
    ranks.grouping = ranks.groupings.find((each) => each.name === ranks.wanted);
    sayGrouping();
    showRank(ranks.rank);
  });
  find("ranks-rank").addEventListener("input", (event) => {
    const rank = Number(event.target.value);
    const is = event.target.value !== "" && Number.isInteger(rank) && rank >= 0 && rank < ranks.world;
    event.target.setAttribute("aria-invalid", String(!is));
    if (is) showRank(rank);
    else if (event.target.value !== "") {
      find("ranks-group").textContent = `There is no rank ${event.target.value}: ` +
        `a world of ${many(ranks.world)} has ${ranks.world > 1 ? `ranks 0 to ${many(ranks.world - 1)}` : "rank 0 alone"}.`;
    }
  });
  find("ranks-form").addEventListener("submit", (event) => event.preventDefault());
  new ResizeObserver(() => {
    if (!ranks.grouping || map.hidden) return;
    layOut();
    paint();
  }).observe(map.parentElement);
}
