/** POST /api/trace without a server: SMO, coordinate descent, Pegasos and the perceptron, step by step. */

import { ApiError } from "../api.js";
import { short } from "../dom.js";
import { penaltyFrom } from "./classify.js";
import { kernelFunction, kernelMatrix } from "./kernels.js";
import { smoSteps, solve } from "./smo.js";

const [FIRST_STEPS, STRIDE_FRAMES] = [160, 16]; // as the server thins a run
const MOST_STEPS = 10_000;
const TITLES = { smo: "SMO", coordinate_descent: "Coordinate descent", pegasos: "Pegasos", perceptron: "The perceptron" };

/** @param {any} request */
export function trace({ points, kernel, C, solver, seed = 0 }) {
  if (!TITLES[solver]) throw new ApiError("This page shows SMO, coordinate descent, Pegasos and the perceptron; the other solvers run in the installed lab.", 400, "solver");
  const penalty = penaltyFrom(C);
  if (penalty === Infinity && solver === "pegasos") throw new ApiError("Pegasos needs a finite C: lower C.", 400, "C");
  const classes = [...new Set(points.map((p) => p[2]))].sort();
  const X = points.map(([x, y]) => [x, y]);
  const y = points.map((p) => (p[2] === classes[1] ? 1 : -1));
  const lesson = { X, y, K: kernelMatrix(kernelFunction(kernel), X), C: penalty, tol: 1e-3, linear: kernel.name === "linear", solver };
  const solution = (solver === "coordinate_descent" ? solvedWithout : solve)({ ...lesson, tol: 1e-6 });
  if (penalty === Infinity && !solution.converged && solver !== "perceptron") throw new ApiError("C = ∞ allows no errors, and with this kernel the classes cannot be separated: use a finite C.", 400, "C");
  const frames = [];
  let [count, due, last] = [0, 0, /** @type {any} */ (null)];
  for (const step of STEPS[solver](lesson, seed)) {
    last = step;
    if (count === due) {
      frames.push(frameOf(lesson, count, step));
      due += 2 ** Math.max(0, Math.floor((frames.length - FIRST_STEPS - 1) / STRIDE_FRAMES) + 1);
    }
    count += 1;
    if (count > MOST_STEPS && solver !== "pegasos") break; // which has a limit of its own
  }
  if (frames.at(-1).iteration !== count - 1) frames.push(frameOf(lesson, count - 1, last));
  const converged = solver === "perceptron" ? Boolean(last.more.separated) : count <= MOST_STEPS;
  return {
    solver,
    signs: y,
    frames,
    curves: Object.fromEntries(["iteration", "primal", "dual", "gap", "violation", "n_support", "errors"].map((key) => [key, frames.map((frame) => frame[key])])),
    final: finalOf(lesson, solution),
    steps: count - 1,
    converged,
    ended: `${TITLES[solver]} ${endOf(solver, count - 1, converged, frames.at(-1).primal / solution.primal - 1)}.`,
  };
}

/** The solution beside the steps; without a hard margin there is none. */
function finalOf({ y }, solution) {
  if (!solution.converged) return Object.fromEntries(["alpha", "b", "primal", "dual", "margin", "n_support", "errors"].map((key) => [key, null]));
  const { a, b, primal, dual, norm } = solution;
  return { alpha: [...a].map(Math.abs), b, primal, dual, margin: norm > 0 ? 2 / norm : null, n_support: a.filter((value) => value !== 0).length, errors: wrongSide(y, solution) };
}

/** How a run ended; `above` is the share by which its objective is above the best one. */
function endOf(solver, steps, converged, above) {
  const after = `after ${steps.toLocaleString("en")} step${steps === 1 ? "" : "s"}`;
  if (solver === "perceptron") return converged ? "stops here; in general its margin is not the widest" : `stopped ${after}: perhaps no boundary of this kind separates the classes`;
  const state = solver === "pegasos" ? `stopped at its limit of ${(steps - 1).toLocaleString("en")} steps` : `${converged ? "converged" : "stopped"} ${after}`;
  return `${state}, ${above < 1e-6 ? "at the best objective" : `${short(100 * above, 2)} % above the best objective`}`;
}

/** The solution without an intercept, by coordinate descent to the end. */
function solvedWithout(problem, most = 200_000) {
  let [last, steps] = [/** @type {any} */ (null), -1];
  for (last of STEPS.coordinate_descent(problem)) if (++steps >= most) break;
  const { a, f } = last;
  const { y, C } = problem;
  const norm2 = Math.max(0, f.reduce((sum, value, i) => sum + value * a[i], 0));
  const slack = f.reduce((sum, value, i) => sum + Math.max(0, 1 - y[i] * value), 0);
  const dual = a.reduce((sum, value, i) => sum + value * y[i], 0) - norm2 / 2;
  return { a, b: 0, f, norm: Math.sqrt(norm2), primal: norm2 / 2 + (C === Infinity ? 0 : C * slack), dual, converged: steps < most };
}

const wrongSide = (y, { f, b }) => f.filter((value, i) => y[i] * (value + b) <= 0).length;

/** What can be said of a step, whatever its solver says. */
function frameOf({ X, y, C, linear, solver }, iteration, { a, f, b: own, chosen, step, note, more = {} }) {
  const perceptron = solver === "perceptron";
  const alone = solver === "coordinate_descent"; // without an intercept
  const b = own ?? (alone ? 0 : bestIntercept(f, y));
  const norm2 = Math.max(0, f.reduce((sum, value, i) => sum + value * a[i], 0));
  const losses = [...f].map((value, i) => Math.max(0, (perceptron ? 0 : 1) - y[i] * (value + b)));
  const slack = losses.reduce((sum, loss) => sum + loss, 0);
  const primal = perceptron ? slack : norm2 / 2 + (C === Infinity ? 0 : C * slack);
  const dual = perceptron || solver === "pegasos" ? null : a.reduce((sum, value, i) => sum + value * y[i], 0) - norm2 / 2;
  const g = f.map((value, i) => value - y[i]);
  const rises = [...(alone ? [0] : []), ...g.filter((_, i) => a[i] < (y[i] > 0 ? C : 0))];
  const falls = [...(alone ? [0] : []), ...g.filter((_, i) => a[i] > (y[i] > 0 ? 0 : -C))];
  return {
    iteration,
    alpha: [...a].map(Math.abs),
    w: linear ? [0, 1].map((k) => X.reduce((sum, x, i) => sum + a[i] * x[k], 0)) : null,
    b,
    chosen,
    step,
    gradient: [...f].map((value, i) => y[i] * value - 1),
    primal,
    dual,
    gap: dual === null ? null : primal - dual,
    violation: perceptron ? Math.max(...losses) : Math.max(0, Math.max(...falls) - Math.min(...rises)),
    n_support: a.filter((value) => value !== 0).length,
    errors: wrongSide(y, { f, b }),
    note,
    ...more,
  };
}

/** The b with the least sum of hinges, whose corners are at y_i - f_i; the middle one where there are many. */
function bestIntercept(f, y) {
  const corners = [...y].map((sign, k) => sign - f[k]);
  const sums = corners.map((b) => y.reduce((total, sign, i) => total + Math.max(0, 1 - sign * (f[i] + b)), 0));
  const least = Math.min(...sums);
  const best = corners.filter((_, k) => sums[k] <= least * (1 + 1e-12));
  return (Math.min(...best) + Math.max(...best)) / 2;
}

/** What a step did to the multiplier of one point, with as many digits as it takes to see it. */
function moved(i, before, after, C) {
  const [from, to] = [Math.abs(before), Math.abs(after)];
  const digits = Array.from({ length: 9 }, (_, k) => k + 3).find((k) => short(from, k) !== short(to, k));
  const end = to === C ? ", its bound C" : "";
  return `α of point ${i + 1} ${digits ? `${to > from ? "rose" : "fell"} from ${short(from, digits)} to ${short(to, digits)}` : `stayed at ${short(to)}`}${end}`;
}

const STEPS = {
  *smo(lesson) {
    for (const { a, g, chosen, d, worst, before } of smoSteps(lesson)) {
      const [i, j] = chosen;
      const note = chosen.length ? `SMO chose points ${i + 1} and ${j + 1}: the objective gains most per unit at point ${i + 1}, and point ${j + 1} is the best partner. The largest violation was ${short(worst)}. Now ${moved(i, before[0], a[i], lesson.C)}, and ${moved(j, before[1], a[j], lesson.C)}.` : "All α are 0: the model knows nothing yet, and f is the same everywhere.";
      yield { a: a.slice(), f: g.map((value, k) => value + lesson.y[k]), chosen, step: d, note };
    }
  },

  *coordinate_descent({ K, y, C, tol }) {
    const a = new Float64Array(y.length);
    const g = Float64Array.from(y, (sign) => -sign);
    const f = () => g.map((value, k) => value + y[k]);
    yield { a: a.slice(), f: f(), chosen: [], step: null, note: "All α are 0. This model has no intercept, so each α can move on its own." };
    for (;;) {
      let [i, most, aim] = [-1, 0, 0];
      let [highest, lowest] = [0, 0];
      for (let u = 0; u < y.length; u++) {
        const [low, high] = y[u] > 0 ? [0, C] : [-C, 0];
        if (a[u] > low) highest = Math.max(highest, g[u]);
        if (a[u] < high) lowest = Math.min(lowest, g[u]);
        const to = Math.max(low, Math.min(high, a[u] - g[u] / Math.max(K[u][u], 1e-300)));
        const gain = -(to - a[u]) * (g[u] + 0.5 * K[u][u] * (to - a[u]));
        if (gain > most) [i, most, aim] = [u, gain, to];
      }
      if (i < 0 || highest - lowest <= tol) return;
      const [before, slope, d] = [a[i], g[i], aim - a[i]];
      a[i] = aim;
      for (let u = 0; u < y.length; u++) g[u] += d * K[i][u];
      yield { a: a.slice(), f: f(), chosen: [i], step: d, note: `Coordinate descent chose point ${i + 1}, whose α alone can gain most (slope ${short(Math.abs(slope))}): ${moved(i, before, a[i], C)}, and the dual objective rose by ${short(most)}.` };
    }
  },

  *pegasos({ K, y, C }, seed) {
    const n = y.length;
    const draw = random(seed);
    const steps = Math.min(MOST_STEPS, Math.max(1000, 40 * n));
    const [a, f] = [new Float64Array(n), new Float64Array(n)];
    const mean = { a: new Float64Array(n), f: new Float64Array(n) };
    let b = 0;
    yield { a: a.slice(), f: f.slice(), b, chosen: [], step: null, note: "w = 0. Each step draws one point at random and uses no other." };
    for (let t = 1; t <= steps; t++) {
      const i = Math.floor(draw() * n);
      const margin = y[i] * (f[i] + b);
      for (let u = 0; u < n; u++) [a[u], f[u]] = [a[u] * (1 - 1 / t), f[u] * (1 - 1 / t)];
      let note = `Step ${t} drew point ${i + 1}, with y f = ${short(margin)}: `;
      if (margin < 1) {
        const push = (n * C * y[i]) / t;
        a[i] += push;
        for (let u = 0; u < n; u++) f[u] += push * K[i][u];
        b += y[i] * Math.min((n * C) / t, C);
        note += `${margin < 0 ? "on the wrong side" : "inside the margin"}, so w shrinks by 1/${t} and is pulled toward it by ${short(Math.abs(push))}.`;
      } else note += `outside the margin, so w only shrinks by 1/${t}.`;
      if (t % n === 0) b = bestIntercept(f, y);
      for (const [total, now] of [[mean.a, a], [mean.f, f]]) for (let u = 0; u < n; u++) total[u] += (2 / (t + 1)) * (now[u] - total[u]);
      yield { a: a.slice(), f: f.slice(), b, chosen: [i], step: 1 / t, note };
    }
    yield { ...mean, chosen: [], step: null, note: `The average of all ${steps.toLocaleString("en")} steps, later ones weighted more: it is much closer to the solution than they are.`, more: { average: true } };
  },

  *perceptron({ K, y }) {
    const n = y.length;
    const [a, f] = [new Float64Array(n), new Float64Array(n)];
    let [b, mistakes, since] = [0, 0, 0];
    yield { a: a.slice(), f: f.slice(), b, chosen: [], step: null, note: "w = 0 and b = 0: every point counts as a mistake until the perceptron has learnt something.", more: { mistakes } };
    for (let looked = 0, i = 0; looked < 20 * MOST_STEPS; looked++, i = (i + 1) % n) {
      const margin = y[i] * (f[i] + b);
      since += 1;
      if (margin <= 0) {
        a[i] += y[i];
        for (let u = 0; u < n; u++) f[u] += y[i] * K[i][u];
        b += y[i];
        [mistakes, since] = [mistakes + 1, 0];
        yield { a: a.slice(), f: f.slice(), b, chosen: [i], step: 1, note: `Mistake ${mistakes}: point ${i + 1} is on the wrong side (y f = ${short(margin)}), so it is added to w with its sign. So far it has been added ${Math.abs(a[i]) === 1 ? "once" : `${Math.abs(a[i])} times`}.`, more: { mistakes } };
      }
      if (since === n) {
        yield { a: a.slice(), f: f.slice(), b, chosen: [], step: null, note: `A whole pass without a mistake: after ${mistakes} mistake${mistakes === 1 ? "" : "s"} the perceptron separates the classes.`, more: { mistakes, separated: true } };
        return;
      }
    }
  },
};

/** Numbers in [0, 1) that depend on the seed alone (mulberry32). */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
