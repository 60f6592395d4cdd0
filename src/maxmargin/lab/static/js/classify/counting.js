/**
 * The linear classifier that counts its errors, beside the one that measures them:
 *
 *     minimise  |w|² + C (number of points with y f(x) < 1)
 *
 * Given the points that keep the margin, w is their widest margin, which two or three of them hold: one of each class, or
 * two of one class and one of the other. So all pairs and triples of the plane are tried, and w = 0. (In more dimensions
 * the library's CountErrorsSVC searches, by branch and bound.)
 */

import { ApiError } from "../api.js";
import { nodesOf } from "../local/kernels.js";

const MAX_POINTS = 200; // two million triples, a second
const ON = 1e-6; // |y f - 1| that counts as on the margin

/**
 * The best w and b, exactly.
 * @param {number[][]} X @param {number[]} y of -1 and +1 @param {number} C
 * @returns {{w: [number, number], b: number, objective: number}}
 */
export function leastErrors(X, y, C) {
  const rows = [-1, 1].map((sign) => y.flatMap((value, i) => (value === sign ? [i] : [])));
  const larger = rows[1].length >= rows[0].length ? 1 : -1;
  let best = { w: /** @type {[number, number]} */ ([0, 0]), b: larger, objective: C * Math.min(rows[0].length, rows[1].length) };

  /** Tries the line with normal (u, v) on which point i has f = sign and point k has f = -sign. */
  function attempt(u, v, i, k, sign) {
    const across = u * (X[i][0] - X[k][0]) + v * (X[i][1] - X[k][1]);
    if (across === 0) return;
    const scale = (2 * sign) / across;
    const w = /** @type {[number, number]} */ ([scale * u, scale * v]);
    let objective = w[0] ** 2 + w[1] ** 2;
    if (!(objective < best.objective)) return;
    const b = sign - w[0] * X[i][0] - w[1] * X[i][1];
    for (let r = 0; r < y.length; r++) {
      if (y[r] * (w[0] * X[r][0] + w[1] * X[r][1] + b) < 1 - ON) {
        objective += C;
        if (objective >= best.objective) return;
      }
    }
    best = { w, b, objective };
  }

  for (const [own, other, sign] of /** @type {[number[], number[], number][]} */ ([[rows[1], rows[0], 1], [rows[0], rows[1], -1]])) {
    for (const [at, i] of own.entries()) {
      for (const k of other) {
        if (sign > 0) attempt(X[i][0] - X[k][0], X[i][1] - X[k][1], i, k, sign);
        for (const j of own.slice(at + 1)) attempt(X[i][1] - X[j][1], X[j][0] - X[i][0], i, k, sign);
      }
    }
  }
  return best;
}

/** The same as an answer of POST /api/compare. */
export function countErrors({ points, C, view, grid }) {
  const classes = [...new Set(points.map((p) => p[2]))].sort((a, b) => a - b);
  if (classes.length !== 2) throw new ApiError("Counting the errors takes exactly two classes.", 400);
  if (points.length > MAX_POINTS) throw new ApiError(`Counting the errors exactly takes at most ${MAX_POINTS} points.`, 400);
  const y = points.map((p) => (p[2] === classes[1] ? 1 : -1));
  const { w, b, objective } = leastErrors(points, y, C === "inf" ? 1e9 : C);
  const f = ([u, v]) => w[0] * u + w[1] * v + b;
  const norm = Math.hypot(...w);
  const records = points.map((point, r) => {
    const own = y[r] * f(point);
    const category = norm === 0 ? (own > 0 ? "outside" : "misclassified") : Math.abs(own - 1) <= ON ? "on" : own > 1 ? "outside" : own >= 0 ? "inside" : "misclassified";
    return { f: f(point), alpha: null, slack: 0, distance: null, category, support: category === "on", predicted: classes[Number(f(point) > 0)] };
  });
  const counted = y.filter((sign, r) => sign * f(points[r]) < 1 - ON).length;
  return {
    kind: "binary",
    counted,
    objective,
    classes,
    values: Float32Array.from(nodesOf(view, ...grid), f),
    pairs: null,
    grid,
    points: records,
    margin: norm > 0 ? 2 / norm : null,
    n_support: records.filter(({ support }) => support).length,
    report: { errors: records.filter(({ predicted }, r) => predicted !== points[r][2]).length },
    comment: [],
  };
}
