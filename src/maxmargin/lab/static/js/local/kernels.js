/** Kernels of points in the plane and sums of them, as the library computes them: for pages without a server. */

/** @typedef {{name: string, gamma?: number, degree?: number, coef0?: number}} Kernel */

/** k(p, q) as a function of two points. @param {Kernel} kernel @returns {(p: number[], q: number[]) => number} */
export function kernelFunction({ name, gamma = 1, degree = 3, coef0 = 1 }) {
  const dot = (p, q) => p.reduce((sum, value, k) => sum + value * q[k], 0);
  const distance = (p, q, power) => p.reduce((sum, value, k) => sum + Math.abs(value - q[k]) ** power, 0);
  return {
    linear: dot,
    poly: (p, q) => (gamma * dot(p, q) + coef0) ** degree,
    rbf: (p, q) => Math.exp(-gamma * distance(p, q, 2)),
    laplacian: (p, q) => Math.exp(-gamma * distance(p, q, 1)),
    sigmoid: (p, q) => Math.tanh(gamma * dot(p, q) + coef0),
  }[name];
}

/** The matrix of all pairs, row by row. @returns {Float64Array[]} */
export function kernelMatrix(k, rows, columns = rows) {
  return rows.map((p) => Float64Array.from(columns, (q) => k(p, q)));
}

/** The nodes of a grid over a view, along x first (grid.js). @returns {number[][]} */
export function nodesOf({ x0, x1, y0, y1 }, nx, ny) {
  const at = (low, high, k, n) => low + ((high - low) * k) / (n - 1);
  return Array.from({ length: nx * ny }, (_, k) => [at(x0, x1, k % nx, nx), at(y0, y1, Math.floor(k / nx), ny)]);
}

/** sum_i coefficients_i k(points_i, p) + intercept at many places. @returns {Float32Array} */
export function expansion(k, points, coefficients, intercept, places) {
  const used = points.map((point, i) => ({ point, c: coefficients[i] })).filter(({ c }) => c !== 0);
  return Float32Array.from(places, (p) => used.reduce((sum, { point, c }) => sum + c * k(point, p), intercept));
}
