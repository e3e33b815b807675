// The data of the page, and values that are computed from it once.

const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes;
const edges = data.edges.map(([from, to, type]) => ({ from, to, type }));
const CONTRADICTS = "contradicts";
/** Maximum lengths of labels on the canvas and lines in lists. */
const LABEL = 34;
const LINE = 160;

/** Counts the values of a list, most frequent first. */
function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

function cut(text, most) {
  const characters = [...text.slice(0, most * 2 + 2)];
  return characters.length > most ? `${characters.slice(0, most - 1).join("").trimEnd()}…` : text;
}

function firstLine(text) {
  return text.slice(0, 400).split("\n").find((line) => line.trim() !== "")?.trim() ?? "";
}

const types = counted(nodes.map((node) => node.type));
const edgeTypes = counted(edges.map((edge) => edge.type));

/** The indices of the edges of each node. */
const edgesOf = nodes.map(() => []);
edges.forEach((edge, at) => {
  edgesOf[edge.from].push(at);
  if (edge.to !== edge.from) edgesOf[edge.to].push(at);
});

/** Nodes that contradict another node, and the number of such pairs. */
const disputed = new Set();
const disputes = new Set();
for (const { from, to, type } of edges) {
  if (type !== CONTRADICTS || from === to) continue;
  disputed.add(from).add(to);
  disputes.add(`${Math.min(from, to)} ${Math.max(from, to)}`);
}

nodes.forEach((node, at) => {
  node.line = cut(firstLine(node.text) || node.id, LINE);
  node.label = cut(node.line, LABEL);
  // The area of a circle shows the activation of the node. The smallest circle is still visible.
  node.radius = 3.6 + 8.4 * Math.sqrt(Math.max(0, Math.min(1, node.now)));
  node.weight = node.now * 2 + Math.log2(1 + edgesOf[at].length) - (node.superseded ? 3 : 0);
});

/** Indices of nodes, most important first. */
const byWeight = nodes.map((_, at) => at).sort((a, b) => nodes[b].weight - nodes[a].weight || a - b);

/**
 * The colors of well-known types, which are the same on every page. They also differ in lightness, so that they can be
 * distinguished by people with color blindness.
 */
const HUES = {
  fact: [0.66, 0.127, 247],
  decision: [0.58, 0.17, 287],
  gotcha: [0.69, 0.143, 76],
  policy: [0.58, 0.114, 168],
  convention: [0.72, 0.151, 163],
  document: [0.5, 0.09, 56],
  pattern: [0.57, 0.155, 329],
  insight: [0.81, 0.16, 110],
  task: [0.48, 0.17, 278],
  finding: [0.65, 0.07, 329],
  code_file: [0.5, 0.025, 275],
  code_function: [0.8, 0.075, 209],
  code_struct: [0.44, 0.11, 250],
  code_test: [0.54, 0.115, 103],
  code_module: [0.71, 0.12, 212],
};
const SPARE = [
  [0.62, 0.13, 205], [0.7, 0.13, 85], [0.55, 0.15, 285], [0.62, 0.12, 165], [0.58, 0.14, 335],
  [0.55, 0.1, 110], [0.66, 0.1, 245], [0.5, 0.07, 75], [0.72, 0.09, 180], [0.64, 0.12, 315],
];

/** The color of each type as lightness, chroma and hue. None is close to the red of contradictions. */
const hueOf = new Map();
{
  let spare = 0;
  for (const [type] of types) {
    const turn = spare - SPARE.length;
    const made = () => SPARE[spare++] ?? [0.5 + 0.2 * ((turn * 0.618) % 1), 0.1, 60 + ((turn * 137.5) % 285)];
    hueOf.set(type, Object.hasOwn(HUES, type) ? HUES[type] : made());
  }
}
const EDGE_HUES = [250, 165, 75, 305, 205, 110, 335, 50, 275, 140];
const edgeHueOf = new Map(
  edgeTypes.filter(([type]) => type !== CONTRADICTS).map(([type], at) => [type, EDGE_HUES[at % EDGE_HUES.length]]),
);
