/**
 * The state of Regression as plain data, and how anything (a link, an old session, {}) is made into one.
 *
 * The names are those of POST /api/regress: points [[x, y], ...], model, degree, centres ("points" or a number), sigma,
 * lambda, C, epsilon; besides them the view and what is not shown.
 */

import { boxFrom, near, pointsFrom } from "../data.js";

export const MOST = 1000;
export const HOME = { x0: -1.1, x1: 1.1, y0: -1.4, y1: 1.4 };
export const SHOWN = { tube: "the tube", residuals: "residuals", rings: "support vectors", weights: "weights below" };

export const pointsOf = (rows) => pointsFrom(rows, MOST);
export const rowOf = ({ x, y }) => [x, y];
export const boxOf = (view) => boxFrom(view, HOME);

/** The parameters that each model has. */
export const USES = {
  ridge_poly: ["degree", "lambda"],
  ridge_gauss: ["centres", "sigma", "lambda"],
  kernel_ridge: ["sigma", "lambda"],
  svr: ["sigma", "C", "epsilon"],
};

/** What each one is at first, and what it may be; the sliders show a part of that. */
export const LIMITS = {
  degree: { first: 3, least: 0, most: 30, whole: true },
  centres: { first: 8, least: 1, most: 400, whole: true },
  sigma: { first: 0.3, least: 1e-6, most: 1e9 },
  lambda: { first: 0.01, least: 0, most: 1e12 },
  C: { first: 10, least: 1e-9, most: 1e9 },
  epsilon: { first: 0.1, least: 0, most: 1e6 },
};

/** A box around all points, with air; the one to begin with where that shows them well. */
export function boxAround(points) {
  const side = (values, [low, high]) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    if (!values.length || (least >= low && most <= high && most - least > 0.2 * (high - low))) return [low, high];
    const air = 0.15 * (most - least) || 1;
    return [least - air, most + air];
  };
  const [x0, x1] = side(points.map((p) => p.x), [HOME.x0, HOME.x1]);
  const [y0, y1] = side(points.map((p) => p.y), [HOME.y0, HOME.y1]);
  return { x0, x1, y0, y1 };
}

/**
 * The model's settings out of anything. `everywhere` (a bump on every point) and `free` (lambda = 0) are tick boxes of
 * their own, so that the sliders keep the values they had.
 */
export function settingsOf(given) {
  const found = { model: Object.hasOwn(USES, given.model) ? given.model : "ridge_poly" };
  for (const [key, { first, least, most, whole }] of Object.entries(LIMITS)) {
    const value = given[key];
    found[key] = near(value) && value >= least && value <= most && (!whole || Number.isInteger(value)) ? value : first;
  }
  found.everywhere = given.centres === "points";
  found.free = given.lambda === 0;
  if (found.free) found.lambda = LIMITS.lambda.first;
  return found;
}

/** The settings for the server: those that the model has. */
export function settingsRequest(settings) {
  const { model, everywhere, free } = settings;
  const value = { ...settings, centres: everywhere ? "points" : settings.centres, lambda: free ? 0 : settings.lambda };
  return Object.fromEntries([["model", model], ...USES[model].map((key) => [key, value[key]])]);
}
