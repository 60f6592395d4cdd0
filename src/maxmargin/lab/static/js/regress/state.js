/**
 * The state of Regression as plain data, and how anything (a link, an old session, {}) is made into one.
 *
 * The names are those of POST /api/regress: points [[x, y], ...], model, degree, centres ("points" or a number), sigma,
 * lambda, C, epsilon; besides them the view and what is not shown.
 */

export const MOST = 1000;
export const HOME = { x0: -1.1, x1: 1.1, y0: -1.4, y1: 1.4 };
export const SHOWN = ["tube", "residuals", "rings", "weights"];

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

let serial = 0;

/** A point with a name of its own, by which answers of the server find it again. */
export const pointOf = (x, y) => ({ id: ++serial, x, y, c: 0 });

const near = (value) => typeof value === "number" && Number.isFinite(value) && Math.abs(value) <= 1e6;

/** Points of any origin; what is none is left out. @returns {import("../points.js").Point[]} */
export function pointsOf(rows) {
  if (!Array.isArray(rows)) return [];
  return rows
    .filter((row) => Array.isArray(row) && near(row[0]) && near(row[1]))
    .slice(0, MOST)
    .map(([x, y]) => pointOf(x, y));
}

/** A view, or the one to begin with. */
export function boxOf(view) {
  const sides = view && ["x0", "x1", "y0", "y1"].every((side) => near(view[side]));
  return sides && view.x1 - view.x0 > 1e-5 && view.y1 - view.y0 > 1e-5 ? { x0: view.x0, x1: view.x1, y0: view.y0, y1: view.y1 } : { ...HOME };
}

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
