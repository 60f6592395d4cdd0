/**
 * A solver's run: the answer of POST /api/trace, and what its pictures ask of it.
 *
 * A frame holds alpha and gradient_i = y_i f_i - 1 without the intercept. With it, m_i = y_i (f_i + b) - 1 is the room
 * between a point and its margin, in units of the margin, and the conditions of optimality are
 *
 *     alpha_i = 0: m_i >= 0,      0 < alpha_i < C: m_i = 0,      alpha_i = C: m_i <= 0.
 *
 * The squared hinge has alpha_i = 2 C max(0, -m_i), and the perceptron only wants y_i (f_i + b) > 0.
 */

import { valueAt } from "../grid.js";

const TOLERANCE = 1e-3;
export const COARSE = 56; // nodes a side of the grid while it plays

/** @typedef {import("../grid.js").Grid} Grid */

export class Run {
  /** @param {any} answer @param {any} request that it answers: points, kernel, C */
  constructor(answer, request) {
    this.answer = answer;
    this.request = request;
    this.frames = answer.frames;
    this.solver = answer.solver;
    this.C = request.C === "inf" ? Infinity : request.C;
    this.linear = request.kernel.name === "linear";
    this.grids = /** @type {Map<number, {key: string, nodes: number, grid: Grid}>} */ (new Map());
    this.scale = scaleOf(answer);
    this.last = this.frames.length - 1;
  }

  /** m_i of frame k. */
  room(k, i) {
    const { gradient, b } = this.frames[k];
    return (gradient[i] ?? 0) + this.answer.signs[i] * (b ?? 0);
  }

  /** Whether point i breaks its condition in frame k. */
  broken(k, i) {
    const m = this.room(k, i);
    const alpha = this.frames[k].alpha[i];
    if (this.solver === "perceptron") return m + 1 <= 0;
    if (this.solver === "newton") return Math.abs(alpha - 2 * this.C * Math.max(0, -m)) > 2 * this.C * TOLERANCE;
    return (alpha < this.C * (1 - 1e-9) && m < -TOLERANCE) || (alpha > 0 && m > TOLERANCE);
  }

  /** The last frame that is not after an iteration. */
  frameAt(iteration) {
    let [low, high] = [0, this.last];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.frames[middle].iteration <= iteration) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The values of frame k over a view, if they are known, at any fineness or at least this one. @returns {Grid|null} */
  grid(k, view, nodes = 0) {
    const key = JSON.stringify(view);
    const found = this.grids.get(k);
    if (found?.key === key && found.nodes >= nodes) return found.grid;
    if (!this.linear || !nodes) return null;
    return this.keep(k, view, nodes, plane(this.frames[k], view, nodes));
  }

  /** @returns {Grid} */
  keep(k, view, nodes, values) {
    const grid = { view, nx: nodes, ny: nodes, values };
    this.grids.set(k, { key: JSON.stringify(view), nodes, grid });
    return grid;
  }

  /** What POST /api/trace-values needs for frame k. */
  valuesRequest(k, view, nodes) {
    const { alpha, b } = this.frames[k];
    const { points, kernel } = this.request;
    return { points, kernel, alphas: alpha.map((a, i) => a * this.answer.signs[i]), intercept: b ?? 0, view, grid: [nodes, nodes] };
  }
}

/** w'x + b on a grid: of a linear model the server need not be asked. */
function plane({ w, b }, view, nodes) {
  const values = new Float32Array(nodes * nodes);
  const at = (lo, hi, k) => lo + ((hi - lo) * k) / (nodes - 1);
  for (let j = 0; j < nodes; j++) {
    for (let i = 0; i < nodes; i++) values[j * nodes + i] = w[0] * at(view.x0, view.x1, i) + w[1] * at(view.y0, view.y1, j) + (b ?? 0);
  }
  return values;
}

/** The alpha that counts as large: that of the solution, where first steps do not stay below it. */
function scaleOf({ frames, final }) {
  const largest = (alpha) => alpha.reduce((most, a) => Math.max(most, a ?? 0), 0);
  const most = frames.reduce((found, frame) => Math.max(found, largest(frame.alpha)), 0);
  const end = largest(final.alpha ?? []);
  return Math.min(most, end > 0 ? 1.3 * end : most) || 1;
}

/**
 * (1 - t) a + t b of two grids over one view: the function of the coefficients between theirs, since f is linear in them.
 * @param {Grid|null} a @param {Grid} b @returns {Grid} on the nodes of b
 */
export function between(a, b, t) {
  if (t >= 1 || !a || a.values === b.values) return b;
  const { view, nx, ny } = b;
  const at = (low, high, k, n) => low + ((high - low) * k) / (n - 1);
  const from = a.nx === nx ? a.values : b.values.map((_, k) => valueAt(a, at(view.x0, view.x1, k % nx, nx), at(view.y0, view.y1, Math.floor(k / nx), ny)));
  return { ...b, values: b.values.map((value, k) => (Number.isNaN(from[k]) ? value : from[k] + t * (value - from[k]))) };
}

/**
 * Which frames are on the screen together. One run is shown frame by frame. Two go in step by iteration, or each by
 * its share of the whole.
 * @param {Run[]} runs @param {"iteration"|"share"} sync
 * @returns {number[][]} for every tick of the clock a frame of each run
 */
export function timeline(runs, sync) {
  if (runs.length === 0) return [];
  const length = Math.max(...runs.map((run) => run.frames.length));
  if (runs.length === 1) return Array.from({ length }, (_, k) => [k]);
  if (sync === "share") {
    return Array.from({ length }, (_, k) => runs.map((run) => Math.round((k * run.last) / Math.max(1, length - 1))));
  }
  // steps that every run shows or has behind it: both stand at the same step, or one waits at its end
  const iterations = new Set(runs.flatMap((run) => run.frames.map((frame) => frame.iteration)));
  const stands = (run, at) => at >= run.frames[run.last].iteration || run.frames[run.frameAt(at)].iteration === at;
  const shared = [...iterations].sort((a, b) => a - b).filter((at) => runs.every((run) => stands(run, at)));
  return shared.map((at) => runs.map((run) => run.frameAt(at)));
}
