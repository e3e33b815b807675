
// The controls, and the loop that updates the canvas.

/** Maximum number of nodes that are shown at first. */
const AT_FIRST = 5000;
/** Maximum lengths of texts and lists that are shown at first. */
const TEXT_SHOWN = 20000;
const LISTED = 50;
const NEIGHBOURS = 200;
/** Time for the layout in each frame, in milliseconds. */
const SLICE = 9;

const by = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en").format;
const several = (count, one, many) => `${number(count)} ${count === 1 ? one : many}`;

/** Creates an element with a class and a text. The text is never parsed as HTML. */
function made(name, className, text = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}

function coloured(element, colour) {
  element.style.setProperty("--colour", colour);
  return element;
}

const layout = new Layout();
const view = new View(layout);
/** What the next frame does: draw everything, or only follow the view. */
let dirty = true;
let moved = false;
let asked = false;
let rest;

/** Requests a frame. */
function wake() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(frame);
}

function redraw() {
  dirty = true;
  wake();
}

/** Called after only the view has moved. */
function shift() {
  moved = true;
  wake();
}

/** Follows the view. What was not drawn during the movement is drawn when it ends. */
function follow() {
  if (!view.slide()) {
    view.draw();
    return;
  }
  clearTimeout(rest);
  rest = setTimeout(redraw, 140);
}

function frame(now) {
  asked = false;
  if (layout.run(performance.now() + SLICE)) {
    view.index = undefined;
    dirty ||= !calm.matches || layout.settled;
    if (view.follows) view.go(view.whole(drawn()));
  }
  if (layout.settled) canvas.dataset.state = "settled";
  if (view.advance(now)) moved = true;
  if (dirty) view.draw();
  else if (moved) follow();
  dirty = moved = false;
  if (!layout.settled || view.flight) wake();
}

/** The nodes that are shown. */
function drawn() {
  return layout.list.filter((i) => state.shown[i]);
}

/** Computes the layout of these nodes again. */
function lay(list) {
  layout.use(list);
  canvas.dataset.state = "moving";
  by("notice").hidden = list.length === nodes.length;
  by("notice-text").textContent = `The ${number(list.length)} most active of ${number(nodes.length)} nodes`;
  show();
}

/** Updates the shown nodes after a filter has changed. */
function show() {
  state.shown.fill(0);
  let count = 0;
  for (const i of layout.list) {
    const wanted = !state.hiddenTypes.has(nodes[i].type) && (!state.onlyDisputes || disputed.has(i));
    state.shown[i] = wanted || i === state.selected ? 1 : 0;
    count += state.shown[i];
  }
  canvas.dataset.nodes = count;
  redraw();
}

// The header.

function fillHeader() {
  by("figures").textContent = `${several(nodes.length, "node", "nodes")} · ${several(edges.length, "edge", "edges")}`;
  const button = by("disputes");
  button.hidden = disputes.size === 0;
  button.textContent = several(disputes.size, "contradiction", "contradictions");
  button.title = "Show only contradictions";
  button.addEventListener("click", () => {
    state.onlyDisputes = !state.onlyDisputes;
    button.setAttribute("aria-pressed", state.onlyDisputes);
    show();
    fit();
  });
}

function fit() {
  view.follows = !layout.settled;
  view.fly(view.whole(drawn()));
  shift();
}

// The legend, which is also the filter.

/** A list of switches, one per type. Alt-click or double-click shows only that type. */
function fillSwitches({ list, all, counts, hidden, sample }) {
  const buttons = new Map();
  const update = () => {
    for (const [type, button] of buttons) button.setAttribute("aria-pressed", !hidden.has(type));
    by(all).hidden = hidden.size === 0;
    show();
  };
  const only = (type) => {
    const isAlone = hidden.size === counts.length - 1 && !hidden.has(type);
    hidden.clear();
    if (!isAlone) for (const [other] of counts) if (other !== type) hidden.add(other);
    update();
  };
  const toggle = (type) => {
    if (!hidden.delete(type)) hidden.add(type);
    update();
  };
  for (const [type, count] of counts) {
    const button = made("button");
    button.type = "button";
    button.title = `${type}\nClick to show or hide, double-click to show only this type`;
    button.append(sample(type), made("bdi", "one", type), made("span", "count", number(count)));
    button.addEventListener("click", (event) => (event.altKey ? only(type) : toggle(type)));
    button.addEventListener("dblclick", () => only(type));
    buttons.set(type, button);
    const item = made("li");
    item.append(button);
    by(list).append(item);
  }
  by(all).addEventListener("click", () => {
    hidden.clear();
    update();
  });
  update();
}

function fillLegend() {
  const dot = (type) => coloured(made("span", "dot"), view.colours.type.get(type));
  fillSwitches({ list: "types", all: "all-types", counts: types, hidden: state.hiddenTypes, sample: dot });
  const stroke = (type) =>
    coloured(made("span", type === "supersedes" ? "stroke dashed" : "stroke"), view.colours.edge.get(type));
  fillSwitches({ list: "edges", all: "all-edges", counts: edgeTypes, hidden: state.hiddenEdges, sample: stroke });
  by("edge-section").hidden = edges.length === 0;
  by("key-old").hidden = !nodes.some((node) => node.superseded);
  by("key-dispute").hidden = disputed.size === 0;
  by("moment").textContent = `as of ${data.at.replace("T", " ").replace(/:\d\dZ$/, " UTC")}`;
  by("filters").addEventListener("click", () => openLegend(!by("legend").classList.contains("open")));
}

function openLegend(open) {
  by("legend").classList.toggle("open", open);
  by("filters").setAttribute("aria-expanded", open);
}

/** Follows changes of the system theme. */
function recolour() {
  view.colours = readColours();
  types.forEach(([type], at) => coloured(by("types").children[at].querySelector(".dot"), view.colours.type.get(type)));
  edgeTypes.forEach(([type], at) =>
    coloured(by("edges").children[at].querySelector(".stroke"), view.colours.edge.get(type)),
  );
  if (state.selected >= 0) fillPanel(state.selected);
  redraw();
}

// Search.

const searchable = [];
let listed = [];
let marked = -1;

/** The searchable text of a node, in lowercase. */
function lowered(i) {
  const { text, file, id, type } = nodes[i];
  return (searchable[i] ??= `${text}\n${file ?? ""}\n${id}\n${type}`.toLowerCase());
}

function find(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return null;
  return new Set(byWeight.filter((i) => wanted.every((word) => lowered(i).includes(word))));
}

function search() {
  state.hits = find(by("search").value);
  by("found").textContent = state.hits ? `${number(state.hits.size)} of ${number(nodes.length)}` : "";
  canvas.dataset.hits = state.hits?.size ?? "";
  listHits();
  redraw();
}

function listHits() {
  const list = by("hits");
  listed = state.hits ? [...state.hits].slice(0, LISTED) : [];
  marked = -1;
  list.replaceChildren(...listed.map(hit));
  if (state.hits?.size === 0) list.append(made("li", "none", "No matching nodes"));
  openHits(state.hits !== null);
}

function hit(i, at) {
  const item = made("li");
  item.id = `hit-${at}`;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  item.append(coloured(made("span", "dot"), view.colours.type.get(nodes[i].type)), made("bdi", "one", nodes[i].line));
  item.append(made("small", "", [nodes[i].type, nodes[i].file].filter(Boolean).join(" · ")));
  // The field must keep the focus until the click is handled.
  item.addEventListener("pointerdown", (event) => event.preventDefault());
  item.addEventListener("click", () => choose(at));
  return item;
}

function openHits(open) {
  by("hits").hidden = !open;
  by("search").setAttribute("aria-expanded", open);
  by("search").removeAttribute("aria-activedescendant");
}

function mark(at) {
  const items = by("hits").children;
  if (listed.length === 0) return;
  items[marked]?.setAttribute("aria-selected", "false");
  marked = (at + listed.length) % listed.length;
  items[marked].setAttribute("aria-selected", "true");
  items[marked].scrollIntoView({ block: "nearest" });
  by("search").setAttribute("aria-activedescendant", items[marked].id);
}

function choose(at) {
  openHits(false);
  select(listed[at], "fly");
}

function searchKey(event) {
  const keys = {
    ArrowDown: () => (by("hits").hidden ? openHits(listed.length > 0) : mark(marked + 1)),
    ArrowUp: () => mark(marked < 0 ? -1 : marked - 1),
    Enter: () => listed.length > 0 && choose(Math.max(marked, 0)),
    Escape: () => {
      if (by("search").value === "") by("search").blur();
      by("search").value = "";
      search();
    },
  };
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  keys[event.key]();
}

// The panel of a node.

/** Selects a node, or none with -1. `how` determines whether the view moves there. */
function select(i, how = "stay") {
  const wasOpen = !by("panel").hidden;
  state.selected = i;
  state.hovered = -1;
  by("panel").hidden = i < 0;
  if (i >= 0) {
    if (!layout.list.includes(i)) lay([...layout.list, i]);
    fillPanel(i);
    openLegend(false);
    if (how === "fly") flyTo(i);
    else if (!wasOpen) uncover(i);
  }
  show();
}

function flyTo(i) {
  view.follows = false;
  view.fly(view.centred(layout.x[i], layout.y[i], Math.max(view.zoom, Math.min(1.3, view.zoom * 2.2))));
}

/** Moves the view if the panel would cover a node. */
function uncover(i) {
  const room = view.room();
  const [x, y] = [view.screenX(i), view.screenY(i)];
  if (x < room.right - 40 && y < room.bottom - 40) return;
  view.follows = false;
  view.fly(view.centred(layout.x[i], layout.y[i], view.zoom));
}

function fillPanel(i) {
  const node = nodes[i];
  coloured(by("panel"), view.colours.type.get(node.type));
  by("panel-kind").textContent = node.type;
  by("panel-old").hidden = !node.superseded;
  showText(node.text, TEXT_SHOWN);
  const [first, last] = node.lines;
  const lines = first === null ? "" : `:${first}${last !== null && last !== first ? `–${last}` : ""}`;
  by("panel-place").hidden = !node.file;
  by("panel-file").textContent = node.file ? node.file + lines : "";
  by("copy").textContent = "Copy";
  fillFacts(node);
  fillNeighbours(i);
  by("panel").querySelector(".panel-body").scrollTop = 0;
}

/** The layout of a very long text is slow, so the rest is shown on request. */
function showText(text, most) {
  by("panel-text").textContent = text.slice(0, most);
  by("panel-text").scrollTop = 0;
  by("more-text").hidden = text.length <= most;
  by("more-text").textContent = `Show all ${number(text.length)} characters`;
}

function fillFacts(node) {
  const list = by("panel-facts");
  list.replaceChildren();
  const add = (name, ...parts) => {
    const value = made("dd");
    value.append(...parts);
    list.append(made("dt", "", name), value);
  };
  const share = (part) => {
    const gauge = made("span", "gauge");
    gauge.append(made("i"));
    gauge.style.setProperty("--part", `${Math.round(Math.max(0, Math.min(1, part)) * 100)}%`);
    return gauge;
  };
  add("Activation now", share(node.now), node.now.toFixed(2));
  if (node.stored !== null) add("Stored activation", share(node.stored), node.stored.toFixed(2));
  if (node.confidence !== null) add("Confidence", share(node.confidence), node.confidence.toFixed(2));
  if (node.created) add("Created", made("bdi", "", node.created));
  const id = made("code");
  id.append(made("bdi", "", node.id));
  add("ID", id);
}

/** The edges of a node, contradictions first. */
function fillNeighbours(i) {
  const near = edgesOf[i].map((at) => edges[at]).sort((a, b) => (b.type === CONTRADICTS) - (a.type === CONTRADICTS));
  by("panel-near-title").textContent = near.length === 0 ? "No neighbors" : several(near.length, "neighbor", "neighbors");
  by("panel-near").replaceChildren(...near.slice(0, NEIGHBOURS).map((edge) => neighbour(edge, i)));
  const more = near.length - NEIGHBOURS;
  if (more > 0) by("panel-near").append(made("li", "rest", `and ${number(more)} more`));
}

function neighbour(edge, i) {
  const other = edge.from === i ? edge.to : edge.from;
  const button = made("button");
  button.type = "button";
  button.title = nodes[other].text.slice(0, 300);
  const relation = made("small");
  relation.append(edge.from === i ? "→ " : "← ", made("bdi", "", edge.type));
  button.append(coloured(made("span", "dot"), view.colours.type.get(nodes[other].type)));
  button.append(made("bdi", "one", nodes[other].line), relation);
  button.addEventListener("click", () => {
    select(other, "fly");
    by("panel").focus({ preventScroll: true });
  });
  const item = made("li", edge.type === CONTRADICTS ? "against" : "");
  item.append(button);
  return item;
}

async function copyPlace() {
  const text = by("panel-file").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page that was opened as a file may have no access to the clipboard. Select the text instead.
    getSelection()?.selectAllChildren(by("panel-file"));
    return;
  }
  by("copy").textContent = "Copied";
}

// Pointer and touch input on the canvas.

const fingers = new Map();
let gesture = null;

function point(event) {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function press(event) {
  if (event.button !== 0) return;
  const at = point(event);
  fingers.set(event.pointerId, at);
  // A synthetic event has no pointer to capture.
  if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
  openLegend(false);
  if (fingers.size === 2) {
    gesture = { kind: "pinch", ...pinch() };
    return;
  }
  const node = view.nodeAt(at.x, at.y, event.pointerType === "touch" ? 14 : 4);
  gesture = { kind: "press", node, start: at, last: at };
}

/** The center of two fingers, and their distance. */
function pinch() {
  const [a, b] = [...fingers.values()];
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)) };
}

function move(event) {
  const at = point(event);
  if (!fingers.has(event.pointerId)) {
    hover(view.nodeAt(at.x, at.y, 4));
    return;
  }
  fingers.set(event.pointerId, at);
  if (gesture?.kind === "pinch") {
    const now = pinch();
    view.follows = false;
    view.zoomBy(now.apart / gesture.apart, now.x, now.y);
    view.go({ zoom: view.zoom, left: view.left + now.x - gesture.x, top: view.top + now.y - gesture.y });
    Object.assign(gesture, now);
    shift();
  } else if (gesture) {
    drag(at);
  }
}

function drag(at) {
  if (gesture.kind === "press") {
    if (Math.hypot(at.x - gesture.start.x, at.y - gesture.start.y) < 4) return;
    gesture.kind = "drag";
    view.follows = false;
    canvas.classList.add("moving");
  }
  const [dx, dy] = [at.x - gesture.last.x, at.y - gesture.last.y];
  gesture.last = at;
  if (gesture.node < 0) {
    view.go({ zoom: view.zoom, left: view.left + dx, top: view.top + dy });
    shift();
  } else {
    layout.held = gesture.node;
    layout.x[gesture.node] += dx / view.zoom;
    layout.y[gesture.node] += dy / view.zoom;
    view.index = undefined;
    // In a small graph, the neighbors are shown too.
    if (layout.list.length <= 3000) layout.warm(0.12);
    redraw();
  }
}

function release(event) {
  if (!fingers.delete(event.pointerId)) return;
  if (gesture?.kind === "press" && event.type === "pointerup") select(gesture.node);
  layout.held = -1;
  gesture = null;
  canvas.classList.remove("moving");
}

function hover(node) {
  if (node === state.hovered) return;
  state.hovered = node;
  canvas.classList.toggle("over", node >= 0);
  redraw();
}

function wheel(event) {
  event.preventDefault();
  const at = point(event);
  const lines = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1;
  const amount = Math.max(-120, Math.min(120, event.deltaY * lines));
  view.follows = false;
  view.zoomBy(Math.exp(-amount * (event.ctrlKey ? 0.01 : 0.0022)), at.x, at.y);
  shift();
}

function canvasKey(event) {
  const step = 60;
  const pan = (x, y) => view.go({ zoom: view.zoom, left: view.left + x, top: view.top + y });
  const keys = {
    ArrowLeft: () => pan(step, 0),
    ArrowRight: () => pan(-step, 0),
    ArrowUp: () => pan(0, step),
    ArrowDown: () => pan(0, -step),
    "+": () => view.zoomBy(1.25),
    "=": () => view.zoomBy(1.25),
    "-": () => view.zoomBy(0.8),
    0: fit,
  };
  if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  view.follows = false;
  keys[event.key]();
  shift();
}

/** Keys that work everywhere on the page. */
function anyKey(event) {
  if (event.key === "/" && document.activeElement !== by("search") && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    by("search").focus();
    by("search").select();
  } else if (event.key === "Escape") {
    if (by("legend").classList.contains("open")) openLegend(false);
    else if (state.selected >= 0) select(-1);
    else if (by("search").value !== "") {
      by("search").value = "";
      search();
    }
  }
}

function listen() {
  canvas.addEventListener("pointerdown", press);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("dblclick", (event) => {
    const { x, y } = point(event);
    view.follows = false;
    view.zoomBy(1.8, x, y);
    shift();
  });
  canvas.addEventListener("keydown", canvasKey);
  document.addEventListener("keydown", anyKey);
  by("search").addEventListener("input", search);
  by("search").addEventListener("keydown", searchKey);
  by("search").addEventListener("focus", () => openHits(state.hits !== null));
  by("search").addEventListener("blur", () => openHits(false));
  const zoom = (factor) => () => {
    view.follows = false;
    const room = view.room();
    view.zoomBy(factor, (room.left + room.right) / 2, (room.top + room.bottom) / 2);
    shift();
  };
  by("zoom-in").addEventListener("click", zoom(1.35));
  by("zoom-out").addEventListener("click", zoom(1 / 1.35));
  by("fit").addEventListener("click", fit);
  by("close").addEventListener("click", () => select(-1));
  by("copy").addEventListener("click", copyPlace);
  by("more-text").addEventListener("click", () => showText(nodes[state.selected].text, Infinity));
  by("show-all").addEventListener("click", () => {
    view.follows = true;
    lay(nodes.map((_, i) => i));
  });
  dark.addEventListener("change", recolour);
  new ResizeObserver(() => {
    view.resize();
    if (view.follows) view.go(view.whole(drawn()));
    view.draw();
  }).observe(canvas);
}

/** The nodes that are shown at first: the most active, and both sides of every contradiction. */
function first() {
  if (nodes.length <= AT_FIRST) return nodes.map((_, i) => i);
  const active = nodes.map((_, i) => i).sort((a, b) => nodes[b].now - nodes[a].now || a - b);
  return [...new Set([...[...disputed].slice(0, AT_FIRST), ...active])].slice(0, AT_FIRST).sort((a, b) => a - b);
}

function start() {
  fillHeader();
  if (nodes.length === 0) {
    by("empty").hidden = false;
    for (const id of ["legend", "filters"]) by(id).hidden = true;
    for (const part of document.querySelectorAll(".search, .zoom")) part.hidden = true;
    canvas.dataset.state = "settled";
    return;
  }
  fillLegend();
  listen();
  lay(first());
  view.go(view.whole(drawn()));
}

start();
