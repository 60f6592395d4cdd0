/** POST /api/classify without a server: two classes, or the votes of one-vs-one. */

import { ApiError } from "../api.js";
import { kernelWords } from "../model.js";
import { commonPoint } from "./hulls.js";
import { expansion, kernelFunction, kernelMatrix, nodesOf } from "./kernels.js";
import { solve } from "./smo.js";

const TOLERANCE = 1e-6;
const ON = 1e-4; // |y f - 1| that counts as on the margin
const CURVE_VALUES = 25;
const SOFT = 100; // the C that is shown where there is no hard margin

export const penaltyFrom = (C) => (C === "inf" ? Infinity : C);

/** @param {any} request @param {any} options */
export function classify({ points, test = [], kernel, C, view, grid }, options) {
  const started = performance.now();
  const classes = [...new Set(points.map((p) => p[2]))].sort((a, b) => a - b);
  if (classes.length < 2) return { kind: "empty", sentence: "Add points of two classes.", points: [], comment: [] };
  const hard = C === "inf";
  let fitted = fit(points, classes, kernel, penaltyFrom(C));
  const impossible = hard && !fitted.every(({ solution }) => solution.converged);
  if (impossible) fitted = fit(points, classes, kernel, SOFT);
  const answer = describe(points, classes, fitted, kernel, { view, grid, C: impossible ? SOFT : C, options });
  answer.comment.push(`seconds               ${((performance.now() - started) / 1000).toPrecision(2)}`);
  if (test.length) {
    answer.test = tested(test, classes, fitted, kernel);
    answer.comment.splice(5, 0, `test errors           ${answer.test.errors} of ${test.length} points (${((100 * answer.test.errors) / test.length).toFixed(1)} %)`);
  }
  if (!impossible) return answer;
  return { ...answer, kind: "inseparable", soft_C: SOFT, proof: proofOf(points, classes, kernel) };
}

/** Why there is no hard margin: with the linear kernel two classes have a point in common, which can be drawn. */
function proofOf(points, classes, kernel) {
  const otherwise = "Choose a finite C, or another kernel.";
  if (kernel.name === "linear") {
    for (const [i, p] of classes.entries()) {
      for (const q of classes.slice(i + 1)) {
        const common = commonPoint(...[p, q].map((c) => points.filter((row) => row[2] === c)));
        if (common) return { ...common, classes: [p, q], proved: true, sentence: `No hard margin exists: one point is in the hulls of class ${p + 1} and of class ${q + 1}, and no boundary has it on both sides. ${otherwise}` };
      }
    }
  }
  return { a: [], b: [], meet: null, proved: false, sentence: `No hard margin was found: with this kernel the classes cannot be separated, or all but touch. ${otherwise}` };
}

/** POST /api/curve: errors along C or gamma. */
export function curve({ points, test = [], kernel, C, over }) {
  const classes = [...new Set(points.map((p) => p[2]))].sort((a, b) => a - b);
  if (classes.length < 2) throw new ApiError("The curve needs points of two classes.", 400, "points");
  const [low, high] = over === "C" ? [0.01, 1e4] : [0.01, 1000];
  const values = Array.from({ length: CURVE_VALUES }, (_, k) => low * (high / low) ** (k / (CURVE_VALUES - 1)));
  const models = values.map((value) => {
    const own = over === "C" ? kernel : { ...kernel, gamma: value };
    return { own, fitted: fit(points, classes, own, over === "C" ? value : C === "inf" ? SOFT : C) };
  });
  const shares = (rows) => models.map(({ own, fitted }) => tested(rows, classes, fitted, own).errors / rows.length);
  return { over, values, train: shares(points), test: test.length ? shares(test) : null };
}

/** The labels that models give to points that they did not learn from. */
function tested(rows, classes, fitted, kernel) {
  const k = kernelFunction(kernel);
  const values = fitted.map(({ places, solution }) => expansion(k, places, solution.a, solution.b, rows.map(([x, y]) => [x, y])));
  const scores = classes.length === 2 ? null : votes(fitted, values, classes, rows.length);
  const predicted = rows.map((_, r) => (scores ? classes[best(scores, r)] : classes[Number(values[0][r] > 0)]));
  return { predicted, errors: predicted.filter((label, r) => label !== rows[r][2]).length, n: rows.length };
}

/** One binary model for each pair of classes; f > 0 is the second class of two, and of more the first of the pair. */
function fit(points, classes, kernel, C) {
  const k = kernelFunction(kernel);
  const pairs = classes.flatMap((i, p) => classes.slice(p + 1).map((j) => [i, j]));
  return pairs.map(([i, j]) => {
    const rows = points.map((_, r) => r).filter((r) => points[r][2] === i || points[r][2] === j);
    const places = rows.map((r) => [points[r][0], points[r][1]]);
    const up = classes.length === 2 ? j : i;
    const y = rows.map((r) => (points[r][2] === up ? 1 : -1));
    return { i, j, rows, y, places, solution: solve({ K: kernelMatrix(k, places), y, C, tol: TOLERANCE }) };
  });
}

function describe(points, classes, fitted, kernel, { view, grid, C, options }) {
  const k = kernelFunction(kernel);
  const nodes = nodesOf(view, ...grid);
  const planes = fitted.map(({ places, solution }) => expansion(k, places, solution.a, solution.b, nodes));
  const at = points.map(([x, y]) => [x, y]);
  const values = fitted.map(({ places, solution }) => expansion(k, places, solution.a, solution.b, at));
  const two = classes.length === 2;
  const scores = two ? null : votes(fitted, values, classes, points.length);
  const records = points.map((point, r) => {
    let [f, alpha, support] = [Infinity, 0, false];
    fitted.forEach(({ rows, y, solution }, m) => {
      const own = rows.indexOf(r);
      if (own < 0) return;
      f = Math.min(f, y[own] * values[m][r]);
      alpha += Math.abs(solution.a[own]);
      support ||= solution.a[own] !== 0;
    });
    const category = Math.abs(f - 1) <= ON ? "on" : f > 1 ? "outside" : f >= 0 ? "inside" : "misclassified";
    const predicted = two ? classes[Number(values[0][r] > 0)] : classes[best(scores, r)];
    return { f: two ? values[0][r] : f, alpha, slack: Math.max(0, 1 - f), distance: null, category, support, predicted };
  });
  const errors = records.filter(({ predicted }, r) => predicted !== points[r][2]).length;
  const n_support = records.filter(({ support }) => support).length;
  const margins = fitted.map(({ solution }) => 2 / solution.norm);
  const margin = Math.min(...margins);
  const of = classes.map((c) => `class ${c + 1}: ${records.filter(({ support }, r) => support && points[r][2] === c).length}`);
  const gap = fitted.reduce((sum, { solution }) => sum + solution.primal - solution.dual, 0);
  const name = two ? "margin 2/|w|" : "smallest margin";
  const valid = kernel.name !== "sigmoid"; // which is not positive semidefinite
  const words = Number.isFinite(margin) ? margin.toPrecision(6) : valid ? "inf" : "not defined: |w|² is negative with this kernel";
  return {
    kind: two ? "binary" : "multiclass",
    classes,
    values: two ? planes[0] : joined(votes(fitted, planes, classes, nodes.length)),
    pairs: two ? null : joined(planes),
    grid,
    points: records,
    margin: Number.isFinite(margin) ? margin : null,
    n_support,
    report: { errors },
    certificate: certificateOf(fitted, valid),
    comment: [
      `kernel                ${kernelWords(kernel, options, "sigma").replace(" kernel", "")}`,
      `C                     ${C}`,
      `support vectors       ${n_support} of ${points.length} points (${of.join(", ")})`,
      `${name.padEnd(20)}  ${words}`,
      `training errors       ${errors} of ${points.length} points (${((100 * errors) / points.length).toFixed(1)} %)`,
      `solver                SMO, in this page`,
      `iterations            ${fitted.reduce((sum, { solution }) => sum + solution.steps, 0)}`,
      ...(valid ? [`duality gap           ${gap.toPrecision(3)}`] : []),
      ...(fitted.every(({ solution }) => solution.converged) ? [] : ["not converged         stopped at the limit of steps"]),
    ],
  };
}

/** How near the optimum the models are together. */
function certificateOf(fitted, valid) {
  if (!valid) return "This kernel is not positive semidefinite, so there is no dual to prove an optimum: the solver stopped by its own rule.";
  const [primal, dual] = ["primal", "dual"].map((key) => fitted.reduce((sum, { solution }) => sum + solution[key], 0));
  const percent = 100 * Math.max(1e-9, (primal - dual) / Math.abs(primal));
  return `The objective is within ${percent.toFixed(Math.max(0, 1 - Math.floor(Math.log10(percent))))} % of the optimum, proved by the dual: primal ${primal.toPrecision(6)}, dual ${dual.toPrecision(6)}.`;
}

/** Scores of each class at each place: votes, and below a third the sums of f. */
function votes(fitted, values, classes, count) {
  const scores = classes.map(() => new Float32Array(count));
  const sums = classes.map(() => new Float32Array(count));
  fitted.forEach(({ i, j }, m) => {
    const [p, q] = [classes.indexOf(i), classes.indexOf(j)];
    for (let r = 0; r < count; r++) {
      scores[values[m][r] > 0 ? p : q][r] += 1;
      sums[p][r] += values[m][r];
      sums[q][r] -= values[m][r];
    }
  });
  scores.forEach((own, c) => own.forEach((_, r) => (own[r] += sums[c][r] / (3 * (Math.abs(sums[c][r]) + 1)))));
  return scores;
}

const best = (scores, r) => scores.reduce((found, own, c) => (own[r] > scores[found][r] ? c : found), 0);

function joined(arrays) {
  const out = new Float32Array(arrays.length * arrays[0].length);
  arrays.forEach((values, k) => out.set(values, k * values.length));
  return out;
}
