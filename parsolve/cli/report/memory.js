// What fills the fullest GPU, for the selected configuration.

function drawMemory(row) {
  const {memory} = data;
  const words = find("memory-words"), plot = find("memory-plot"), room = find("memory-table");
  const bytes = memory.unknown ? null : memory.bytes[row];
  if (!bytes) {
    const why = memory.unknown || "its size is not defined while rules are violated";
    words.textContent = `The memory is not known: ${why}.`;
    undraw(plot);
    room.replaceChildren();
    return;
  }
  const total = bytes.reduce((sum, part) => sum + part, 0);
  const {limit} = memory;
  const state = memory.states[row];
  const assumed = memory.assumptions[memory.assumed[row]];
  words.textContent = `${gib(total)}${limit ? ` of ${gib(limit)}: ${memory.words[state]}` : ""}; ` +
    `most is in use at the ${memory.peaks[memory.peak[row]]}` + (assumed ? `. Assumed: ${assumed}.` : ".");
  const parts = memory.parts.map((part, place) => ({...part, size: bytes[place]}))
    .sort((a, b) => b.size - a.size);
  const bars = [...parts.map((part) => ({part: part.name, kind: "part", size: part.size})),
    {part: "total", kind: state ?? "fits", size: total}]
    .map((bar) => ({...bar, gib: bar.size / GIB, words: `${bar.part}: ${gib(bar.size)}`}));
  const sets = {parts: bars, limit: limit ? [{gib: limit / GIB, words: `GPU: ${gib(limit)}`}] : []};
  draw(plot, {...data.specs.memory, height: ROW * bars.length}, sets);
  const share = (size) => `${(100 * size / (limit || total)).toFixed(1)}%`;
  room.replaceChildren(makeTable("Parts at the moment when most is in use",
    ["part", "GiB", limit ? "of the GPU" : "of the total", "how it is computed"],
    [...parts.map((part) => [part.name, fixed(part.size / GIB), share(part.size), part.how]),
      ["total", fixed(total / GIB), share(total), ""],
      ...(limit ? [["GPU", fixed(limit / GIB), "100.0%", ""]] : [])]));
}
