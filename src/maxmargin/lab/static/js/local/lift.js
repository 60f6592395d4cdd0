/** POST /api/lift without a server: points under a map, and the plane that separates them there. */

import { ApiError } from "../api.js";
import { short } from "../dom.js";
import { penaltyFrom } from "./classify.js";
import { expansion, kernelFunction, kernelMatrix, nodesOf } from "./kernels.js";
import { solve } from "./smo.js";

const SHEET = 25; // nodes a side of the lifted plane
const PAD = 0.08; // around the lifted points
const AXES = { quadratic: ["x²", "√2 x y", "y²"], radial: ["x", "y", "(x² + y²)"], bump: ["x", "y", "exp(−γ r²)"], polar: ["r", "θ"], rbf_surface: ["x", "y", "f(x, y)"] };

/** A point under a map. */
export function mapped(map, [x, y], gamma) {
  return {
    quadratic: () => [x * x, Math.SQRT2 * x * y, y * y],
    radial: () => [x, y, x * x + y * y],
    bump: () => [x, y, Math.exp(-gamma * (x * x + y * y))],
    polar: () => [Math.hypot(x, y), Math.atan2(y, x)],
    rbf_surface: () => [x, y],
  }[map]();
}

/** @param {any} request */
export function lift({ points, map, gamma, C, view, grid }) {
  const classes = [...new Set(points.map((p) => p[2]))].sort();
  const y = points.map((p) => (p[2] === classes[1] ? 1 : -1));
  const surface = map === "rbf_surface";
  const k = kernelFunction(surface ? { name: "rbf", gamma } : { name: "linear" });
  const Z = points.map((p) => mapped(map, p, gamma));
  const solution = solve({ K: kernelMatrix(k, Z), y, C: penaltyFrom(C), tol: 1e-6 });
  if (!solution.converged) throw new ApiError("C = ∞ allows no errors, and even in the lifted space the classes cannot be separated: use a finite C, or another map.", 400, "C");
  const { a, b, norm } = solution;
  const f = solution.f.map((value) => value + b);
  const nodes = nodesOf(view, ...grid);
  const values = expansion(k, Z, a, b, nodes.map((p) => mapped(map, p, gamma)));
  const errors = f.filter((value, i) => y[i] * value <= 0).length;
  const support = [...a.keys()].filter((i) => a[i] !== 0);
  const right = errors ? `${errors} of ${points.length} points are misclassified` : "all points are classified correctly";
  const answer = { map, axes: AXES[map], values, grid, f, support, errors, margin: 2 / norm };
  if (surface) {
    const heights = [...values, ...f].reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    const comment = [`The height is f(x, y): a hill or a hollow of width ${short(Math.sqrt(0.5 / gamma))} on each of the ${support.length} support vectors.`, `Where the surface crosses height 0 the classes meet; ${right}.`];
    return { ...answer, coordinates: points.map(([x, y], i) => [x, y, f[i]]), box: [[view.x0, view.x1], [view.y0, view.y1], heights], plane: null, comment };
  }
  const d = Z[0].length;
  const w = Array.from({ length: d }, (_, j) => Z.reduce((sum, z, i) => sum + a[i] * z[j], 0));
  const box = Array.from({ length: d }, (_, j) => {
    const [low, high] = [Math.min(...Z.map((z) => z[j])), Math.max(...Z.map((z) => z[j]))];
    const room = PAD * (high > low ? high - low : Math.max(1, Math.abs(high)));
    return [low - room, high + room];
  });
  const sheet = Float32Array.from(nodesOf(view, SHEET, SHEET).flatMap((p) => mapped(map, p, gamma)));
  const corners = Object.fromEntries([-1, 0, 1].map((level) => [level, cornersOf(w, b - level, box)]));
  const signed = (value) => `${value < 0 ? "−" : "+"} ${short(Math.abs(value))}`;
  const terms = w.map((value, j) => `${signed(value)} ${AXES[map][j]}`).join(" ").replace(/^\+ /, "").replace(/^− /, "−");
  const comment = [
    `In the lifted space the ${d === 2 ? "line" : "plane"} ${terms} ${signed(b)} = 0 ${errors ? "is the best one for this C," : "separates the classes"} with margin ${short(2 / norm)}; ${right}.`,
    `${support.length} of ${points.length} points are support vectors: on the margin, inside it, or on the wrong side.`,
  ];
  return { ...answer, coordinates: Z, box, sheet, sheet_grid: [SHEET, SHEET], plane: { normal: w, offset: b, margin: 2 / norm, corners }, comment };
}

/** The part of the plane w'z + b = 0 inside a box: the corners of a convex polygon in order, or the ends of a line. */
export function cornersOf(w, b, box) {
  const d = w.length;
  const vertices = Array.from({ length: 2 ** d }, (_, i) => box.map((side, k) => side[(i >> k) & 1]));
  const side = vertices.map((z) => z.reduce((sum, value, k) => sum + value * w[k], b));
  const found = [];
  for (let i = 0; i < 2 ** d; i++) {
    for (let k = 0; k < d; k++) {
      const j = i | (1 << k);
      if (j === i || side[i] > 0 === side[j] > 0) continue;
      const t = side[i] / (side[i] - side[j]);
      found.push(vertices[i].map((value, axis) => value + t * (vertices[j][axis] - value)));
    }
  }
  if (found.length < 3) return found;
  // angles around the middle, in two directions across the normal; lengths in units of the box
  const size = box.map(([low, high]) => high - low);
  const n = w.map((value, k) => value * size[k]);
  const least = n.map(Math.abs).indexOf(Math.min(...n.map(Math.abs)));
  const axis = n.map((_, k) => Number(k === least));
  const cross = (p, q) => [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
  const u = cross(n, axis);
  const v = cross(n, u);
  const unit = (p) => p.map((value) => value / Math.hypot(...p));
  const [uu, vv] = [unit(u), unit(v)];
  const middle = size.map((_, k) => found.reduce((sum, z) => sum + z[k], 0) / found.length);
  const angle = (z) => {
    const p = z.map((value, k) => (value - middle[k]) / size[k]);
    const along = (q) => p.reduce((sum, value, k) => sum + value * q[k], 0);
    return Math.atan2(along(vv), along(uu));
  };
  return found.sort((p, q) => angle(p) - angle(q));
}
