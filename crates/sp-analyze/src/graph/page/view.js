
// The canvas: drawing the visible part of the graph, and finding the node at a position.

const canvas = document.getElementById("canvas");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const LABEL_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif';
/** Maximum radius of a node. */
const LARGEST = 12;
const MOST_ZOOM = 6;
const LEAST_ZOOM = 0.02;
/** With more circles and lines than this, the canvas is not redrawn while the view moves. */
const MANY = 6000;

/** The selection and the filters. The controls change it, and the canvas shows it. */
const state = {
  hiddenTypes: new Set(),
  hiddenEdges: new Set(),
  onlyDisputes: false,
  /** Indices of the search results, or nothing without a search. */
  hits: null,
  selected: -1,
  hovered: -1,
  /** Whether a node is shown, by its index. */
  shown: new Uint8Array(nodes.length),
};

/** The colors of the system theme. */
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const named = (name) => style.getPropertyValue(`--${name}`).trim();
  // Both themes use the same hues, lighter ones in the dark theme.
  const shade = (light) => (dark.matches ? 0.56 + (light - 0.42) * 0.8 : light);
  const colour = ([light, chroma, hue]) => `oklch(${shade(light).toFixed(3)} ${chroma} ${hue})`;
  return {
    paper: named("paper"),
    ink: named("ink"),
    soft: named("soft"),
    red: named("red"),
    type: new Map([...hueOf].map(([type, hue]) => [type, colour(hue)])),
    edge: new Map(edgeTypes.map(([type]) => [type, type === CONTRADICTS ? named("red") : edgeColour(type)])),
  };
}

function edgeColour(type) {
  return `oklch(${dark.matches ? 0.68 : 0.6} 0.085 ${edgeHueOf.get(type)})`;
}

class View {
  constructor(layout) {
    this.layout = layout;
    this.context = canvas.getContext("2d", { alpha: false });
    this.zoom = 1;
    this.left = 0;
    this.top = 0;
    this.follows = true;
    this.colours = readColours();
    this.widths = new Map();
    this.resize();
  }

  resize() {
    const box = canvas.getBoundingClientRect();
    this.ratio = Math.min(window.devicePixelRatio || 1, 3);
    [this.width, this.height] = [box.width, box.height];
    canvas.width = Math.max(1, Math.round(box.width * this.ratio));
    canvas.height = Math.max(1, Math.round(box.height * this.ratio));
  }

  screenX(i) {
    return this.layout.x[i] * this.zoom + this.left;
  }

  screenY(i) {
    return this.layout.y[i] * this.zoom + this.top;
  }

  /** Circles grow more slowly than distances, so that zooming in adds space. */
  radius(i) {
    return nodes[i].radius * this.scale;
  }

  get scale() {
    return Math.max(0.34, Math.min(2, this.zoom ** (this.zoom < 1 ? 0.7 : 0.5)));
  }

  /** The part of the canvas that is not covered. */
  room() {
    const room = { left: 0, top: 0, right: this.width, bottom: this.height };
    const [legend, panel] = ["legend", "panel"].map((id) => document.getElementById(id));
    const lies = (element) => element.offsetWidth > 0 && getComputedStyle(element).visibility !== "hidden";
    const isBeside = (element) => element.offsetWidth < this.width * 0.6;
    if (lies(legend) && isBeside(legend)) room.left = legend.offsetLeft + legend.offsetWidth;
    if (lies(panel) && isBeside(panel)) room.right = panel.offsetLeft;
    if (lies(panel) && !isBeside(panel)) room.bottom = panel.offsetTop;
    return room;
  }

  /** The view that shows all of these nodes. */
  whole(list, closest = 2.3) {
    let [west, north, east, south] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const i of list) {
      west = Math.min(west, this.layout.x[i] - 14);
      east = Math.max(east, this.layout.x[i] + 14);
      north = Math.min(north, this.layout.y[i] - 14);
      south = Math.max(south, this.layout.y[i] + 14);
    }
    if (west > east) return this.place();
    const room = this.room();
    const margin = Math.min(56, (room.right - room.left) * 0.07);
    const fit = Math.min(
      (room.right - room.left - 2 * margin) / (east - west),
      (room.bottom - room.top - 2 * margin) / (south - north),
    );
    return this.centred((west + east) / 2, (north + south) / 2, Math.max(LEAST_ZOOM, Math.min(closest, fit)));
  }

  /** The view with a point in the center of the uncovered part. */
  centred(x, y, zoom) {
    const room = this.room();
    return { zoom, left: (room.left + room.right) / 2 - x * zoom, top: (room.top + room.bottom) / 2 - y * zoom };
  }

  place() {
    return { zoom: this.zoom, left: this.left, top: this.top };
  }

  go({ zoom, left, top }) {
    this.flight = undefined;
    [this.zoom, this.left, this.top] = [zoom, left, top];
  }

  /** Moves the view smoothly. */
  fly(to) {
    if (calm.matches) this.go(to);
    else this.flight = { from: this.place(), to, start: performance.now() };
  }

  /** Continues a smooth movement, and returns whether there is one. */
  advance(now) {
    if (!this.flight) return false;
    const { from, to, start } = this.flight;
    const part = Math.max(0, Math.min(1, (now - start) / 380));
    const eased = 1 - (1 - part) ** 3;
    const mix = (a, b) => a + (b - a) * eased;
    const zoom = from.zoom * (to.zoom / from.zoom) ** eased;
    [this.zoom, this.left, this.top] = [zoom, mix(from.left, to.left), mix(from.top, to.top)];
    if (part >= 1) this.go(to);
    return true;
  }

  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, this.zoom * factor));
    const real = zoom / this.zoom;
    this.go({ zoom, left: x - (x - this.left) * real, top: y - (y - this.top) * real });
  }

  /** The node at a point of the canvas, or -1. */
  nodeAt(x, y, slack) {
    const reach = LARGEST * this.scale + slack;
    let [best, least] = [-1, Infinity];
    for (const i of this.nodesIn(x - reach, y - reach, x + reach, y + reach)) {
      const away = Math.hypot(this.screenX(i) - x, this.screenY(i) - y) - this.radius(i);
      if (away <= slack && away < least) [best, least] = [i, away];
    }
    return best;
  }

  /** The shown nodes around a part of the canvas. */
  *nodesIn(left, top, right, bottom) {
    this.index ??= this.makeIndex();
    const { cell, cells } = this.index;
    const column = (x) => Math.floor((x - this.left) / this.zoom / cell);
    const row = (y) => Math.floor((y - this.top) / this.zoom / cell);
    for (let c = column(left); c <= column(right); c++) {
      for (let r = row(top); r <= row(bottom); r++) {
        for (const i of cells.get(cellKey(c, r)) ?? []) if (state.shown[i]) yield i;
      }
    }
  }

  /** Nodes by their cell in a grid. */
  makeIndex() {
    const cell = 64;
    const cells = new Map();
    for (const i of this.layout.list) {
      const key = cellKey(Math.floor(this.layout.x[i] / cell), Math.floor(this.layout.y[i] / cell));
      const there = cells.get(key);
      if (there) there.push(i);
      else cells.set(key, [i]);
    }
    return { cell, cells };
  }

  /** Nodes that are highlighted while others are dimmed; none if there is no highlight. */
  focus() {
    const centre = state.hovered >= 0 ? state.hovered : state.selected;
    if (centre < 0) return state.hits;
    const near = new Set([centre]);
    for (const at of edgesOf[centre]) near.add(edges[at].from).add(edges[at].to);
    return near;
  }

  draw() {
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = this.colours.paper;
    context.fillRect(0, 0, this.width, this.height);
    this.drawnFrom = this.place();
    const focus = this.focus();
    const seen = this.seen();
    this.parts = seen.length;
    this.drawEdges(focus);
    this.drawNodes(seen, focus);
    this.drawRings(seen, focus);
    this.drawLabels(seen, focus);
    this.tellSelected();
    this.picture = undefined;
  }

  /** Moves the last picture with the view if redrawing would take too long, and returns whether it did. */
  slide() {
    if (this.parts < MANY) return false;
    this.picture ??= this.copy();
    const { context, picture, ratio } = this;
    const grown = this.zoom / picture.zoom;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = this.colours.paper;
    context.fillRect(0, 0, this.width, this.height);
    const [left, top] = [this.left - picture.left * grown, this.top - picture.top * grown];
    context.drawImage(picture.canvas, left, top, this.width * grown, this.height * grown);
    this.tellSelected();
    return true;
  }

  /** The content of the canvas, and its view. */
  copy() {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    copy.getContext("2d", { alpha: false }).drawImage(canvas, 0, 0);
    return { canvas: copy, ...this.drawnFrom };
  }

  /** Stores the position of the selected node in an attribute, for tests. */
  tellSelected() {
    const { selected } = state;
    if (selected < 0) delete canvas.dataset.at;
    else canvas.dataset.at = `${Math.round(this.screenX(selected))} ${Math.round(this.screenY(selected))}`;
  }

  /** Nodes that are on the canvas. */
  seen() {
    const out = [];
    for (const i of this.layout.list) {
      if (!state.shown[i]) continue;
      const [x, y, r] = [this.screenX(i), this.screenY(i), this.radius(i) + 6];
      if (x > -r && y > -r && x < this.width + r && y < this.height + r) out.push(i);
    }
    return out;
  }

  /** Draws the edges, less important ones first. */
  drawEdges(focus) {
    const byType = new Map(edgeTypes.map(([type]) => [type, { far: [], near: [], loud: [] }]));
    const centre = state.hovered >= 0 ? state.hovered : state.selected;
    let count = 0;
    for (const edge of edges) {
      if (!state.shown[edge.from] || !state.shown[edge.to] || state.hiddenEdges.has(edge.type)) continue;
      count++;
      if (this.isOutside(edge)) continue;
      this.parts++;
      const { from, to } = edge;
      const loud = focus && (centre >= 0 ? from === centre || to === centre : focus.has(from) && focus.has(to));
      const near = this.layout.group[from] === this.layout.group[to] || edge.type === CONTRADICTS;
      byType.get(edge.type)[loud ? "loud" : near ? "near" : "far"].push(edge);
    }
    // Edges between groups are fainter than edges inside a group.
    const near = Math.max(0.16, Math.min(0.7, 1.15 - 0.24 * Math.log10(count + 1))) * (focus ? 0.3 : 1);
    for (const [kind, alpha] of [["far", near * 0.55], ["near", near], ["loud", 0.95]]) {
      for (const [type, groups] of byType) this.drawLines(groups[kind], this.lineStyle(type, kind, alpha));
    }
    for (const [type, groups] of byType) this.drawHeads(groups.loud, this.colours.edge.get(type));
    canvas.dataset.edges = count;
  }

  lineStyle(type, kind, alpha) {
    const red = type === CONTRADICTS;
    return { type, alpha: red ? Math.min(1, alpha * 2 + 0.1) : alpha, width: (kind === "loud" ? 1.6 : 1) + (red ? 0.7 : 0) };
  }

  isOutside({ from, to }) {
    const [ax, ay, bx, by] = [this.screenX(from), this.screenY(from), this.screenX(to), this.screenY(to)];
    return (
      (ax < 0 && bx < 0) || (ay < 0 && by < 0) || (ax > this.width && bx > this.width) || (ay > this.height && by > this.height)
    );
  }

  drawLines(list, { type, alpha, width }) {
    if (list.length === 0) return;
    const { context } = this;
    context.strokeStyle = this.colours.edge.get(type);
    context.globalAlpha = alpha;
    context.lineWidth = width;
    context.setLineDash(type === "supersedes" ? [4, 3] : []);
    // Stroking one path with very many lines is slower than stroking several short paths.
    for (let start = 0; start < list.length; start += 400) {
      context.beginPath();
      for (const { from, to } of list.slice(start, start + 400)) {
        context.moveTo(this.screenX(from), this.screenY(from));
        context.lineTo(this.screenX(to), this.screenY(to));
      }
      context.stroke();
    }
    context.setLineDash([]);
  }

  /** Draws arrowheads at the border of the circle that an edge leads to. */
  drawHeads(list, colour) {
    const { context } = this;
    context.fillStyle = colour;
    context.globalAlpha = 0.95;
    context.beginPath();
    for (const { from, to } of list) {
      const angle = Math.atan2(this.screenY(to) - this.screenY(from), this.screenX(to) - this.screenX(from));
      const rim = this.radius(to) + (disputed.has(to) ? 4.5 : 1.5);
      const [x, y] = [this.screenX(to) - Math.cos(angle) * rim, this.screenY(to) - Math.sin(angle) * rim];
      context.moveTo(x, y);
      for (const turn of [2.75, -2.75]) context.lineTo(x + 7.5 * Math.cos(angle + turn), y + 7.5 * Math.sin(angle + turn));
      context.closePath();
    }
    context.fill();
  }

  drawNodes(seen, focus) {
    const byType = new Map(types.map(([type]) => [type, { quiet: [], loud: [], old: [] }]));
    for (const i of seen) {
      const groups = byType.get(nodes[i].type);
      const loud = !focus || focus.has(i);
      (loud ? (nodes[i].superseded ? groups.old : groups.loud) : groups.quiet).push(i);
    }
    for (const [type, groups] of byType) this.drawCircles(groups.quiet, type, { alpha: dark.matches ? 0.16 : 0.18 });
    for (const [type, groups] of byType) {
      this.drawCircles(groups.old, type, { alpha: 0.75, hollow: true });
      this.drawCircles(groups.loud, type, { alpha: 1 });
    }
  }

  drawCircles(list, type, { alpha, hollow }) {
    if (list.length === 0) return;
    const { context } = this;
    const colour = this.colours.type.get(type);
    context.globalAlpha = alpha;
    context.beginPath();
    for (const i of list) {
      const [x, y, r] = [this.screenX(i), this.screenY(i), this.radius(i)];
      context.moveTo(x + r, y);
      context.arc(x, y, r, 0, 2 * Math.PI);
    }
    context.fillStyle = hollow ? this.colours.paper : colour;
    // A border in the background color separates circles that touch.
    context.strokeStyle = hollow ? colour : this.colours.paper;
    context.lineWidth = hollow ? 1.4 : Math.min(1.5, this.scale * 1.6);
    context.fill();
    if (alpha > 0.5 && (hollow || this.zoom > 0.25)) context.stroke();
  }

  drawRings(seen, focus) {
    const { context } = this;
    const ring = (i, gap, colour, width) => {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.arc(this.screenX(i), this.screenY(i), this.radius(i) + gap, 0, 2 * Math.PI);
      context.stroke();
    };
    for (const i of disputed.size > 0 ? seen : []) {
      if (!disputed.has(i)) continue;
      context.globalAlpha = !focus || focus.has(i) ? 1 : 0.25;
      ring(i, 2.6, this.colours.red, 1.8);
    }
    context.globalAlpha = 1;
    if (state.selected >= 0) ring(state.selected, disputed.has(state.selected) ? 6 : 3.6, this.colours.ink, 2);
  }

  /** Draws labels where they fit, most important first. */
  drawLabels(seen, focus) {
    const { context } = this;
    context.font = `500 11.5px ${LABEL_FONT}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    this.drawnRoom = this.room();
    const dense = Math.min(1, this.zoom / 1.3);
    const most = focus ? 60 : Math.round((this.width * this.height) / (60000 - 48000 * dense));
    const taken = [];
    const centre = state.hovered >= 0 ? state.hovered : state.selected;
    for (const i of this.labelled(seen, focus, centre)) {
      if (taken.length >= most) break;
      this.drawLabel(i, { taken, focus, always: i === centre });
    }
    canvas.dataset.labels = taken.length;
  }

  /** Nodes whose labels are tried, in this order. */
  labelled(seen, focus, centre) {
    const here = new Uint8Array(nodes.length);
    for (const i of seen) here[i] = !focus || focus.has(i) ? 1 : 0;
    const list = centre >= 0 ? [centre] : [];
    for (const i of this.layout.hubs) if (here[i] && i !== centre) list.push(i);
    for (const i of byWeight) {
      if (here[i] && i !== centre && !this.layout.hubs.has(i)) list.push(i);
      if (list.length >= 500) break;
    }
    return list;
  }

  drawLabel(i, { taken, focus, always }) {
    const { context } = this;
    const boxes = this.labelBoxes(i);
    const touches = (box) => (other) =>
      box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top;
    const { left, right } = this.drawnRoom;
    const isInside = (box) => box.left > left && box.right < right;
    const open = boxes.filter((box) => isInside(box) && !taken.some(touches(box)));
    // When zoomed out, a hub names its group, so its label may cover other nodes of the group.
    const rather = always ? boxes[0] : this.zoom < 0.75 && this.layout.hubs.has(i) ? open[0] : undefined;
    const box = open.find((box) => !this.covers(i, box, focus)) ?? rather;
    if (!box) return;
    taken.push(box);
    const [x, y] = [box.left + 4, (box.top + box.bottom) / 2];
    context.globalAlpha = 0.9;
    context.strokeStyle = this.colours.paper;
    context.lineWidth = 4;
    context.strokeText(nodes[i].label, x, y);
    context.globalAlpha = 1;
    context.fillStyle = nodes[i].superseded ? this.colours.soft : this.colours.ink;
    context.fillText(nodes[i].label, x, y);
  }

  /** Possible positions of the label of a node: below, beside, above. */
  labelBoxes(i) {
    const [x, y, away] = [this.screenX(i), this.screenY(i), this.radius(i) + (disputed.has(i) ? 5 : 2)];
    const [width, height] = [this.labelWidth(i) + 8, 16];
    const box = (left, top) => ({ left, top, right: left + width, bottom: top + height });
    return [
      box(x - width / 2, y + away),
      box(x + away, y - height / 2),
      box(x - away - width, y - height / 2),
      box(x - width / 2, y - away - height),
    ];
  }

  labelWidth(i) {
    if (!this.widths.has(i)) this.widths.set(i, this.context.measureText(nodes[i].label).width);
    return this.widths.get(i);
  }

  /** Whether a label would cover the circle of another node that is not dimmed. */
  covers(i, box, focus) {
    const reach = LARGEST * this.scale;
    for (const j of this.nodesIn(box.left - reach, box.top - reach, box.right + reach, box.bottom + reach)) {
      if (j === i || (focus && !focus.has(j))) continue;
      const [x, y, r] = [this.screenX(j), this.screenY(j), this.radius(j) + 1];
      if (x > box.left - r && x < box.right + r && y > box.top - r && y < box.bottom + r) return true;
    }
    return false;
  }
}
