/**
 * The state of Classify as plain data, and how anything (a link, an old session, {}) is made into one.
 *
 * The names are those of POST /api/classify: points [[x, y, class], ...], kernel, C ("inf" for a hard margin), solver,
 * multiclass; besides them the view and what is not shown.
 */

import { boxFrom, isNumber, pointOf, pointsFrom } from "../data.js";

export const CLASSES = 6;
export const MOST = 5000;
export const HOME = { x0: -1, x1: 1, y0: -1, y1: 1 };
export const SHOWN = { shading: "f(x) as colour", contours: "f = −1, 0, +1", rings: "support vectors", slacks: "slacks" };

export const pointsOf = (rows) => pointsFrom(rows, MOST, CLASSES);
export const rowOf = ({ x, y, c }) => [x, y, c];
export const boxOf = (view) => boxFrom(view, HOME);

/** A box around all points, with air; the one to begin with where that shows them well. */
export function boxAround(points) {
  if (!points.length) return { ...HOME };
  const xs = points.map((p) => p.x);
  const ys = points.map((p) => p.y);
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const size = Math.max(x1 - x0, y1 - y0);
  if (x0 >= -1 && x1 <= 1 && y0 >= -1 && y1 <= 1 && size > 0.4) return { ...HOME };
  const air = 0.12 * size || 1;
  return { x0: x0 - air, x1: x1 + air, y0: y0 - air, y1: y1 + air };
}

/** A few points of each class around a centre of its own, somewhere in the box. */
export function randomPoints(classes, { x0, x1, y0, y1 }, each = 15) {
  const half = Math.min(x1 - x0, y1 - y0) / 2;
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const round = (v) => Number(v.toFixed(Math.max(0, 3 - Math.floor(Math.log10(half)))));
  const turn = Math.random();
  return Array.from({ length: classes * each }, (_, k) => {
    const angle = 2 * Math.PI * (turn + (k % classes) / classes);
    const x = (x0 + x1) / 2 + half * (0.42 * Math.cos(angle) + 0.2 * normal());
    const y = (y0 + y1) / 2 + half * (0.42 * Math.sin(angle) + 0.2 * normal());
    return pointOf(round(x), round(y), k % classes);
  });
}

/** The model's settings out of anything, each one checked against what the server offers. */
export function modelOf(given, options) {
  const names = (list) => list.map((item) => item.name);
  const pick = (value, list, fallback) => (list.includes(value) ? value : fallback);
  const kernel = given.kernel ?? {};
  const found = { name: pick(kernel.name, names(options.kernels), "linear") };
  for (const { parameters } of options.kernels) {
    for (const [key, about] of Object.entries(parameters)) found[key] = isNumber(kernel[key]) ? kernel[key] : about.default;
  }
  return {
    kernel: found,
    C: given.C === "inf" ? Infinity : isNumber(given.C) && given.C > 0 ? given.C : options.C.default,
    solver: pick(given.solver, names(options.solvers), "auto"),
    multiclass: pick(given.multiclass, names(options.multiclass), "ovo"),
  };
}

/** The kernel with the parameters that it has, for the server. */
export function kernelRequest(kernel, options) {
  const { parameters } = options.kernels.find((item) => item.name === kernel.name);
  return Object.fromEntries([["name", kernel.name], ...Object.keys(parameters).map((key) => [key, kernel[key]])]);
}
