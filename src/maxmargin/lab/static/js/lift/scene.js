/**
 * What stands in the lifted space: the answer of POST /api/lift in the coordinates of a cube from -1 to 1.
 *
 * Everything has two places: flat, as it is in the input space, and lifted. At t between 0 and 1 it is at
 * (1 - t) flat + t lifted. The flat plane lies at height 0 of the lifted space, or at its floor if 0 is below that.
 */

import { floats } from "../api.js";
import { contour, valueAt } from "../grid.js";
import { mix, shatter } from "./polygons.js";

/** @typedef {import("./camera.js").Vector} Vector */
/** @typedef {{flat: Vector, lifted: Vector}} Both */

const PIECE = 0.2; // size of the pieces of a plane
const TORN = 0.7; // neighbours farther apart than this have a jump between them: the angle at ±π
const SURFACE = 41; // nodes a side of a surface

export class Scene {
  /** @param {any} answer @param {import("../points.js").Point[]} points @param {import("../plot.js").Box} view */
  constructor(answer, points, view) {
    this.answer = answer;
    this.view = view;
    this.map = answer.map;
    const [nx, ny] = answer.grid;
    this.grid = { view, nx, ny, values: floats(answer.values) };
    this.upright = ["radial", "bump", "rbf_surface"].includes(this.map); // x and y stay where they are
    this.ranges = this.rangesOf();
    this.floor = this.map === "polar" ? 0 : -1; // two dimensions stay in the middle
    this.ground = this.map === "polar" ? 0 : Math.max(-1, Math.min(1, this.along(2, 0)));
    this.points = points.map((point, i) => ({
      point,
      flat: this.flat(point.x, point.y),
      lifted: this.norm(answer.coordinates[i]),
      f: answer.f[i],
    }));
    this.support = new Set(answer.support);
    this.sheet = this.sheetOf();
    this.curves = Object.fromEntries([-1, 0, 1].map((level) => [level, this.curveOf(level)]));
    this.planes = Object.fromEntries([-1, 0, 1].map((level) => [level, shatter(this.cornersOf(level), PIECE)]));
    this.outlines = Object.fromEntries([-1, 0, 1].map((level) => [level, this.cornersOf(level)]));
  }

  /** What the sides of the cube mean: [low, high] of each axis. */
  rangesOf() {
    const { box } = this.answer;
    if (!this.upright) return [...box, [-1, 1]].slice(0, 3);
    const half = Math.max(this.view.x1 - this.view.x0, this.view.y1 - this.view.y0) / 2;
    const [cx, cy] = [(this.view.x0 + this.view.x1) / 2, (this.view.y0 + this.view.y1) / 2];
    return [[cx - half, cx + half], [cy - half, cy + half], box[2]];
  }

  along(axis, value) {
    const [low, high] = this.ranges[axis];
    return high > low ? (2 * (value - low)) / (high - low) - 1 : 0;
  }

  /** @param {ArrayLike<number>} z lifted coordinates, two or three @returns {Vector} */
  norm(z) {
    return [this.along(0, z[0]), this.along(1, z[1]), z.length > 2 ? this.along(2, z[2]) : this.ground];
  }

  /** A place of the drawing in the cube: the longer side of the view fills it. @returns {Vector} */
  flat(x, y) {
    const { x0, x1, y0, y1 } = this.view;
    const half = Math.max(x1 - x0, y1 - y0) / 2;
    return [(x - (x0 + x1) / 2) / half, (y - (y0 + y1) / 2) / half, this.ground];
  }

  /** The input space as a net: nodes, and the cells between them. */
  sheetOf() {
    const { answer, view } = this;
    const own = answer.sheet === undefined; // the height is f itself
    const [nx, ny] = own ? [SURFACE, SURFACE] : answer.sheet_grid;
    const data = own ? null : floats(answer.sheet);
    const d = own ? 3 : data.length / (nx * ny);
    const nodes = [];
    for (let j = 0; j < ny; j++) {
      for (let i = 0; i < nx; i++) {
        const x = view.x0 + ((view.x1 - view.x0) * i) / (nx - 1);
        const y = view.y0 + ((view.y1 - view.y0) * j) / (ny - 1);
        const f = valueAt(this.grid, x, y);
        const at = (j * nx + i) * d;
        nodes.push({ flat: this.flat(x, y), lifted: this.norm(own ? [x, y, f] : data.subarray(at, at + d)), f });
      }
    }
    const cells = [];
    for (let j = 0; j < ny - 1; j++) {
      for (let i = 0; i < nx - 1; i++) {
        const k = j * nx + i;
        const corners = [k, k + 1, k + nx + 1, k + nx];
        if (!this.torn(corners.map((a) => nodes[a].lifted))) cells.push({ corners, f: corners.reduce((sum, a) => sum + nodes[a].f / 4, 0) });
      }
    }
    return { nx, ny, nodes, cells };
  }

  /** Whether the angle jumps between these places. @param {Vector[]} places */
  torn(places) {
    return this.map === "polar" && places.some((p) => Math.abs(p[1] - places[0][1]) > TORN);
  }

  /** Where a place of the drawing lies on the lifted net; null where the net is torn. @returns {Both|null} */
  onSheet(x, y) {
    const { nx, ny, nodes } = this.sheet;
    const { x0, x1, y0, y1 } = this.view;
    const u = ((x - x0) / (x1 - x0)) * (nx - 1);
    const v = ((y - y0) / (y1 - y0)) * (ny - 1);
    const i = Math.max(0, Math.min(nx - 2, Math.floor(u)));
    const j = Math.max(0, Math.min(ny - 2, Math.floor(v)));
    const at = (di, dj) => nodes[(j + dj) * nx + i + di].lifted;
    if (this.torn([at(0, 0), at(1, 0), at(0, 1), at(1, 1)])) return null;
    const lifted = mix(mix(at(0, 0), at(1, 0), u - i), mix(at(0, 1), at(1, 1), u - i), v - j);
    // the net bends between its nodes: without that, lines on it would be wavy
    const [near, nearRow] = [inner(u, nx), inner(v, ny)];
    const across = [-1, 0, 1].map((k) => nodes[nearRow * nx + near + k].lifted);
    const along = [-1, 0, 1].map((k) => nodes[(nearRow + k) * nx + near].lifted);
    if (!this.torn([...across, ...along])) {
      const [s, t] = [(u - i) * (1 - u + i) / 2, (v - j) * (1 - v + j) / 2];
      lifted.forEach((value, axis) => (lifted[axis] = value - s * bend(across, axis) - t * bend(along, axis)));
    }
    return { flat: this.flat(x, y), lifted };
  }

  /** The line f = level, in pieces. @returns {[Both, Both][]} */
  curveOf(level) {
    const lines = contour(this.grid, level);
    const pieces = /** @type {[Both, Both][]} */ ([]);
    for (let k = 0; k < lines.length; k += 4) {
      const a = this.onSheet(lines[k], lines[k + 1]);
      const b = this.onSheet(lines[k + 2], lines[k + 3]);
      if (a && b) pieces.push([a, b]);
    }
    return pieces;
  }

  /** The plane f = level of the lifted space; for the height of f itself, the plane at that height. @returns {Vector[]} */
  cornersOf(level) {
    const { plane, box } = this.answer;
    if (plane) return this.map === "polar" ? [] : plane.corners[level].map((z) => this.norm(z));
    if (level <= box[2][0] || level >= box[2][1]) return [];
    const { x0, x1, y0, y1 } = this.view;
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]].map(([x, y]) => this.norm([x, y, level]));
  }

  /** The ends of the line f = level in two lifted dimensions. @returns {Vector[]} */
  lineOf(level) {
    return this.map === "polar" ? this.answer.plane.corners[level].map((z) => this.norm(z)) : [];
  }
}

/** The nearest of n nodes in a row that has one on both sides. */
const inner = (u, n) => Math.max(1, Math.min(n - 2, Math.round(u)));

/** The second difference of three places. @param {Vector[]} places */
const bend = ([a, b, c], axis) => a[axis] - 2 * b[axis] + c[axis];
