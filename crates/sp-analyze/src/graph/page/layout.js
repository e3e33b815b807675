
// The layout of nodes: nodes repel each other, edges attract, and groups stay together.
//
// The layout depends only on the graph and the shape of the window, so a graph looks the same each time. It runs in time
// slices, so that the page stays responsive.

/** Minimum ratio of distance to width for treating a group of nodes as one body. */
const THETA = 0.9;
const PUSH = 80;
/** Beyond about this distance, repulsion decreases faster, so that distant groups do not interact. */
const REACH = 450;
const SETTLED = 0.002;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/** Encodes a cell of a grid as a number. */
const cellKey = (column, row) => column * 0x1000000 + row;

/** A quadtree in which a distant group of nodes counts as one body. */
class Squares {
  constructor(capacity) {
    const most = capacity * 4 + 64;
    this.child = new Int32Array(most * 4);
    this.mass = new Float64Array(most);
    this.x = new Float64Array(most);
    this.y = new Float64Array(most);
    this.width = new Float64Array(most);
    this.stack = new Int32Array(512);
    this.most = most;
  }

  /** Inserts the bodies with these indices in `x` and `y`. */
  build(list, x, y) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const i of list) {
      left = Math.min(left, x[i]);
      right = Math.max(right, x[i]);
      top = Math.min(top, y[i]);
      bottom = Math.max(bottom, y[i]);
    }
    const width = Math.max(right - left, bottom - top, 1) * 1.001;
    this.count = 0;
    this.add(width);
    for (const i of list) this.insert(x[i], y[i], left, top, width);
    for (let at = 0; at < this.count; at++) {
      this.x[at] /= this.mass[at];
      this.y[at] /= this.mass[at];
    }
  }

  add(width) {
    const at = this.count++;
    this.child.fill(-1, at * 4, at * 4 + 4);
    this.mass[at] = this.x[at] = this.y[at] = 0;
    this.width[at] = width;
    return at;
  }

  /** Descends to an empty square. A square with a single body moves that body down first. */
  insert(px, py, left, top, width) {
    let at = 0;
    for (let depth = 0; ; depth++) {
      const alone = this.mass[at] === 1 && depth < 24 ? [this.x[at], this.y[at]] : null;
      const empty = this.mass[at] === 0;
      this.mass[at] += 1;
      this.x[at] += px;
      this.y[at] += py;
      if (empty || depth >= 24 || this.count + 2 >= this.most) return;
      width /= 2;
      if (alone) {
        const down = this.down(at, alone[0] >= left + width, alone[1] >= top + width, width);
        this.mass[down] = 1;
        [this.x[down], this.y[down]] = alone;
      }
      const [east, south] = [px >= left + width, py >= top + width];
      at = this.down(at, east, south, width);
      if (east) left += width;
      if (south) top += width;
    }
  }

  down(at, east, south, width) {
    const slot = at * 4 + (east ? 1 : 0) + (south ? 2 : 0);
    if (this.child[slot] < 0) this.child[slot] = this.add(width);
    return this.child[slot];
  }

  /** Adds the repulsion of a body at a position to `out`. */
  push(px, py, out) {
    const { stack, child, mass, width } = this;
    let [depth, fx, fy] = [1, 0, 0];
    stack[0] = 0;
    while (depth > 0) {
      const at = stack[--depth];
      const dx = px - this.x[at];
      const dy = py - this.y[at];
      const far = dx * dx + dy * dy;
      const whole = width[at] * width[at] < THETA * THETA * far;
      const first = at * 4;
      const leaf = child[first] < 0 && child[first + 1] < 0 && child[first + 2] < 0 && child[first + 3] < 0;
      if (whole || leaf) {
        if (far > 0) {
          const force = mass[at] / Math.max(far, 16) / (1 + far / (REACH * REACH));
          fx += dx * force;
          fy += dy * force;
        }
        continue;
      }
      for (let slot = first; slot < first + 4; slot++) if (child[slot] >= 0) stack[depth++] = child[slot];
    }
    out[0] = fx;
    out[1] = fy;
  }
}

class Layout {
  constructor() {
    const count = nodes.length;
    for (const name of ["x", "y", "vx", "vy"]) this[name] = new Float64Array(count);
    this.placed = new Uint8Array(count);
    this.group = new Int32Array(count);
    this.list = [];
    this.held = -1;
    this.heat = 0;
  }

  /** Lays out these nodes. Nodes that already have a position start there. */
  use(list) {
    this.list = list;
    const taken = new Uint8Array(nodes.length);
    for (const i of list) taken[i] = 1;
    this.links = edges.filter(({ from, to }) => from !== to && taken[from] && taken[to]);
    this.findGroups();
    const fresh = list.filter((i) => !this.placed[i]).length;
    this.place();
    this.springs = this.links.map((edge) => this.spring(edge));
    this.squares = new Squares(list.length);
    // A large graph needs more room than a small one.
    this.gravity = 0.012 + 0.5 / Math.sqrt(list.length + 25);
    this.cooling = 1 - SETTLED ** (1 / (list.length > 4000 ? 170 : 320));
    this.warm(fresh > list.length / 50 ? 1 : 0.1);
  }

  /** Resumes the movement. */
  warm(heat) {
    this.heat = Math.max(this.heat, heat);
    this.work ??= this.ticks();
  }

  get settled() {
    return this.work === undefined;
  }

  /** Runs until a deadline, and returns whether anything moved. */
  run(until) {
    this.moved = false;
    while (this.work && performance.now() < until) {
      if (this.work.next().done) this.work = undefined;
    }
    return this.moved;
  }

  /** Finds groups: each node joins the group that most of its neighbors are in. */
  findGroups() {
    const near = new Map(this.list.map((i) => [i, []]));
    for (const { from, to } of this.links) {
      near.get(from).push(to);
      near.get(to).push(from);
    }
    this.degree = new Map([...near].map(([i, all]) => [i, all.length]));
    for (const i of this.list) this.group[i] = i;
    for (let round = 0; round < 12; round++) {
      let changes = 0;
      for (const i of this.list) {
        const best = this.mostFrequentGroup(near.get(i), this.group[i]);
        if (best !== this.group[i]) changes++;
        this.group[i] = best;
      }
      if (changes === 0) break;
    }
    // Nodes without edges are grouped by type.
    const first = new Map();
    for (const i of this.list) {
      if (near.get(i).length > 0) continue;
      if (!first.has(nodes[i].type)) first.set(nodes[i].type, i);
      this.group[i] = first.get(nodes[i].type);
    }
    this.members = new Map();
    for (const i of this.list) {
      const group = this.members.get(this.group[i]);
      if (group) group.push(i);
      else this.members.set(this.group[i], [i]);
    }
    this.findHubs();
  }

  /** The most characteristic node of each large group. */
  findHubs() {
    const least = Math.max(12, this.list.length / 50);
    const isLarge = (members) => members.length >= least && this.degree.get(members[0]) > 0;
    const large = [...this.members.values()].filter(isLarge);
    const heavier = (a, b) => (nodes[b].weight > nodes[a].weight ? b : a);
    this.hubs = new Set(large.map((members) => members.reduce(heavier)));
  }

  mostFrequentGroup(near, own) {
    const votes = new Map();
    let [best, most] = [own, 0];
    for (const other of near) {
      const group = this.group[other];
      const count = (votes.get(group) ?? 0) + (group === own ? 1.2 : 1);
      votes.set(group, count);
      if (count > most) [best, most] = [group, count];
    }
    return best;
  }

  /** Groups start as disks, the largest in the center, and nodes without edges outside. */
  place() {
    let [covered, turn] = [0, 0];
    const isLoose = (members) => (this.degree.get(members[0]) === 0 ? 1 : 0);
    const order = (a, b) => isLoose(a) - isLoose(b) || b.length - a.length;
    for (const members of [...this.members.values()].sort(order)) {
      const area = (members.length + 3) * 900;
      const away = turn === 0 ? 0 : Math.sqrt((covered + area / 2) / Math.PI) * 1.5;
      const [cx, cy] = this.middle(members) ?? [away * 1.25 * Math.cos(turn * GOLDEN), away * Math.sin(turn * GOLDEN)];
      covered += area;
      turn++;
      members.forEach((i, at) => {
        if (this.placed[i]) return;
        const out = 15 * Math.sqrt(at + 0.5);
        this.x[i] = cx + out * Math.cos(at * GOLDEN);
        this.y[i] = cy + out * Math.sin(at * GOLDEN);
        this.placed[i] = 1;
      });
    }
  }

  /** The center of the nodes that have a position, if any. */
  middle(members) {
    const there = members.filter((i) => this.placed[i]);
    if (there.length === 0) return undefined;
    const mean = (values) => there.reduce((sum, i) => sum + values[i], 0) / there.length;
    return [mean(this.x), mean(this.y)];
  }

  spring({ from, to }) {
    const inside = this.group[from] === this.group[to];
    const [a, b] = [this.degree.get(from), this.degree.get(to)];
    return {
      from,
      to,
      length: nodes[from].radius + nodes[to].radius + (inside ? 28 : 90),
      strength: (inside ? 0.9 : 0.1) / Math.min(a, b) ** 0.9,
      share: a / (a + b),
    };
  }

  *ticks() {
    const force = [0, 0];
    while (this.heat > SETTLED) {
      this.squares.build(this.list, this.x, this.y);
      yield;
      for (let at = 0; at < this.list.length; at++) {
        const i = this.list[at];
        this.squares.push(this.x[i], this.y[i], force);
        this.vx[i] += force[0] * PUSH * this.heat;
        this.vy[i] += force[1] * PUSH * this.heat;
        if (at % 200 === 199) yield;
      }
      this.pull();
      yield;
      this.gather();
      this.part();
      this.move();
      this.moved = true;
      this.heat -= this.heat * this.cooling;
      yield;
    }
    this.heat = 0;
  }

  pull() {
    const { x, y, vx, vy, heat } = this;
    for (const { from, to, length, strength, share } of this.springs) {
      const dx = x[to] + vx[to] - x[from] - vx[from] || 1e-3;
      const dy = y[to] + vy[to] - y[from] - vy[from] || 1e-3;
      const now = Math.sqrt(dx * dx + dy * dy);
      const force = ((now - length) / now) * heat * strength;
      vx[to] -= dx * force * share;
      vy[to] -= dy * force * share;
      vx[from] += dx * force * (1 - share);
      vy[from] += dy * force * (1 - share);
    }
  }

  /** Pulls each node toward its group, and all nodes toward the center, more along the shorter side of the window. */
  gather() {
    const { x, y, vx, vy, heat } = this;
    const shape = Math.max(0.65, Math.min(1.5, (innerWidth - 240) / innerHeight)) ** 0.8;
    const [across, down] = [(this.gravity * heat * 0.85) / shape, this.gravity * heat * 0.85 * shape];
    for (const members of this.members.values()) {
      let [cx, cy] = [0, 0];
      for (const i of members) {
        cx += x[i] / members.length;
        cy += y[i] / members.length;
      }
      const own = members.length > 1 ? 0.12 * heat : 0;
      for (const i of members) {
        vx[i] += (cx - x[i]) * own - x[i] * across;
        vy[i] += (cy - y[i]) * own - y[i] * down;
      }
    }
  }

  /** Separates overlapping circles. */
  part() {
    if (this.heat > 0.5) return;
    const cell = 26;
    const cells = new Map();
    for (const i of this.list) {
      const at = cellKey(Math.floor(this.x[i] / cell), Math.floor(this.y[i] / cell));
      const there = cells.get(at);
      if (there) there.push(i);
      else cells.set(at, [i]);
    }
    for (const i of this.list) {
      const [column, row] = [Math.floor(this.x[i] / cell), Math.floor(this.y[i] / cell)];
      for (let c = column - 1; c <= column + 1; c++) {
        for (let r = row - 1; r <= row + 1; r++) {
          for (const j of cells.get(cellKey(c, r)) ?? []) if (j > i) this.separate(i, j);
        }
      }
    }
  }

  separate(i, j) {
    const dx = this.x[j] - this.x[i] || 0.01;
    const dy = this.y[j] - this.y[i];
    const apart = nodes[i].radius + nodes[j].radius + 4;
    const now = Math.sqrt(dx * dx + dy * dy);
    if (now >= apart) return;
    const force = ((apart - now) / now) * 0.25;
    this.vx[i] -= dx * force;
    this.vy[i] -= dy * force;
    this.vx[j] += dx * force;
    this.vy[j] += dy * force;
  }

  move() {
    const { x, y, vx, vy } = this;
    for (const i of this.list) {
      vx[i] *= 0.6;
      vy[i] *= 0.6;
      if (i === this.held) vx[i] = vy[i] = 0;
      x[i] += vx[i];
      y[i] += vy[i];
    }
  }
}
