/**
 * SMO (Platt 1998; pairs by second-order information: Fan, Chen & Lin 2005) for pages without a server.
 *
 *     minimise 1/2 a'Ka - y'a,   sum a_i = 0,   a_i between 0 and y_i C,   a_i = y_i alpha_i,   g = Ka - y
 *
 * A step takes i, the variable that most wants to rise, and the partner j that promises the largest gain, and moves both
 * by d = (g_j - g_i) / (K_ii + K_jj - 2 K_ij), cut at the bounds. The largest g that may fall minus the smallest that may
 * rise is the violation; at most tol means optimal.
 */

/** @typedef {{K: Float64Array[], y: number[], C: number, tol: number}} Problem */

/** A generator of steps; `a` and `g` are changed in place. @param {Problem} problem */
export function* smoSteps({ K, y, C, tol }) {
  const n = y.length;
  const lower = y.map((sign) => (sign > 0 ? 0 : -C));
  const upper = y.map((sign) => (sign > 0 ? C : 0));
  const a = new Float64Array(n);
  const g = Float64Array.from(y, (sign) => -sign);
  yield { a, g, chosen: [], d: null, worst: Infinity, before: [] };
  for (;;) {
    let i = -1;
    for (let u = 0; u < n; u++) if (a[u] < upper[u] && (i < 0 || g[u] < g[i])) i = u;
    let [j, best, worst, curvature] = [-1, 0, 0, 1];
    for (let u = 0; u < n; u++) {
      const difference = g[u] - g[i];
      if (!(a[u] > lower[u]) || !(difference > 0)) continue;
      worst = Math.max(worst, difference);
      const bend = Math.max(K[i][i] + K[u][u] - 2 * K[i][u], 1e-15 * (Math.abs(K[i][i]) + Math.abs(K[u][u])) + 1e-300);
      if (difference ** 2 / bend > best) [j, best, curvature] = [u, difference ** 2 / bend, bend];
    }
    if (worst <= tol) return;
    const before = [a[i], a[j]];
    const [roomUp, roomDown] = [upper[i] - a[i], a[j] - lower[j]];
    const d = Math.min((g[j] - g[i]) / curvature, roomUp, roomDown);
    a[i] = d === roomUp ? upper[i] : a[i] + d;
    a[j] = d === roomDown ? lower[j] : a[j] - d;
    for (let u = 0; u < n; u++) g[u] += d * (K[i][u] - K[j][u]);
    yield { a, g, chosen: [i, j], d, worst, before };
  }
}

/** The intercept: -g of the free variables, or the middle of what the others allow. */
export function intercept({ y, C }, a, g) {
  const free = [...a.keys()].filter((i) => a[i] !== 0 && Math.abs(a[i]) < C);
  if (free.length) return -free.reduce((sum, i) => sum + g[i], 0) / free.length;
  const rises = [...a.keys()].filter((i) => a[i] < (y[i] > 0 ? C : 0)).map((i) => g[i]);
  const falls = [...a.keys()].filter((i) => a[i] > (y[i] > 0 ? 0 : -C)).map((i) => g[i]);
  return -(Math.min(...rises) + Math.max(...falls)) / 2;
}

/**
 * The solution: coefficients, intercept, both objectives. Without convergence (a hard margin that does not exist has no
 * end) `converged` is false.
 * @param {Problem} problem @param {number} [most] steps
 */
export function solve(problem, most = 200_000) {
  const { K, y, C } = problem;
  let steps = -1;
  let last = /** @type {any} */ (null);
  let converged = true;
  for (const step of smoSteps(problem)) {
    last = step;
    steps += 1;
    if (steps >= most || (C === Infinity && Math.abs(step.a[step.chosen[0] ?? 0]) > 1e9)) {
      converged = false;
      break;
    }
  }
  const { a } = last;
  const f = K.map((row) => row.reduce((sum, value, j) => sum + value * a[j], 0)); // afresh: sums of steps drift
  const b = intercept(problem, a, f.map((value, i) => value - y[i]));
  const norm2 = Math.max(0, f.reduce((sum, value, i) => sum + value * a[i], 0));
  const slack = f.reduce((sum, value, i) => sum + Math.max(0, 1 - y[i] * (value + b)), 0);
  const dual = a.reduce((sum, value, i) => sum + value * y[i], 0) - norm2 / 2;
  return { a, b, f, norm: Math.sqrt(norm2), primal: norm2 / 2 + (C === Infinity ? 0 : C * slack), dual, steps, converged };
}
