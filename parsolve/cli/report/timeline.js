// The pipeline timeline of the selected configuration.

function drawTimeline(row) {
  const words = find("timeline-words"), plot = find("timeline-plot"), room = find("timeline-table");
  const place = data.timelines.of[row];
  const found = place < 0 ? null : data.timelines.timelines[place];
  if (!found?.ranks) {
    words.replaceChildren(...whyNot(row, found));
    undraw(plot);
    room.replaceChildren();
    return;
  }
  words.replaceChildren(`${found.title}: ${found.about}. Simulated with equal stages, a backward twice a forward: `,
    codeOf(found.command));
  const width = widthOf(found, plot.parentElement.clientWidth);
  plot.style.width = `${width}px`;
  const items = itemsOf(found, width);
  draw(plot, {...data.specs.timeline, height: ROW * found.ranks.length},
    {items, labels: items.filter((item) => item.label)});
  room.replaceChildren(makeTable("Each rank of the pipeline", ["rank", "idle", "micro-batches in flight at most"],
    found.idle.map((idle, rank) => [String(rank), idle, String(found.in_flight[rank])])));
}

function whyNot(row, found) {
  if (found) return [`Not drawn: ${found.why}. In a terminal: `, codeOf(found.command)];
  if (!data.accepted[row]) return ["The configuration is rejected."];
  if (!data.timelines.simulated) return ["This profile has no pipeline that could be simulated."];
  return ["No pipeline with a known number of micro-batches: there is nothing to draw."];
}

const FIELDS = 5, NARROW = 14, WIDEST = 8000, MARGIN = 80;

const totalOf = (found) => Math.max(...found.ranks.map((list) => list[list.length - 1]));

/** Wide enough that the shortest piece of work can be seen, if that is possible at all. */
function widthOf(found, room) {
  let shortest = Infinity;
  for (const list of found.ranks) {
    for (let at = 0; at < list.length; at += FIELDS) shortest = Math.min(shortest, list[at + 4] - list[at + 3]);
  }
  return Math.max(room, Math.min(WIDEST, MARGIN + NARROW * totalOf(found) / shortest));
}

/** The pieces of work, with a label where there is room for it. */
function itemsOf(found, width) {
  const items = [];
  const total = totalOf(found);
  found.ranks.forEach((list, rank) => {
    for (let at = 0; at < list.length; at += FIELDS) {
      const [kind, microbatch, chunk, start, end] = list.slice(at, at + FIELDS);
      const name = kind ? "backward" : "forward";
      const part = found.chunks > 1 ? `, chunk ${chunk}` : "";
      const label = String(microbatch);
      const wide = (end - start) / total * (width - MARGIN);
      items.push({
        rank, kind: name, chunk, start: start / found.unit, end: end / found.unit,
        middle: (start + end) / 2 / found.unit, label: wide > 7 * label.length + 2 ? label : "",
        words: `${name} of micro-batch ${microbatch}${part} on rank ${rank}: ${start / found.unit} to ${end / found.unit} units`,
      });
    }
  });
  return items;
}
