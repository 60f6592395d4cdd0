/**
 * The state of Digits as plain data, and how anything (a link, an old session, {}) is made into one.
 *
 * The names are those of POST /api/digits: strokes [[[x, y], ...], ...] in the unit square with y downwards, and the
 * classifier {kernel, gamma, degree, C ("inf" for a hard margin), multiclass, copies, pen}. A picture is a data URL. Those that are
 * too long for a link stay in memory, so that undo finds them, and the state has only their names.
 */

import { isNumber, penaltyOf } from "../data.js";

export const MOST_STROKES = 100;
export const MOST_PLACES = 6000;
const LONGEST = 20_000; // characters of a picture in a link
const DOT = 0.02; // of the canvas: less than this is no digit

export const KERNELS = [
  ["rbf", "Gaussian (RBF)"],
  ["poly", "Polynomial"],
  ["linear", "Linear"],
  ["laplacian", "Laplacian"],
  ["intersection", "Histogram intersection"],
];
export const SCHEMES = [
  ["ovo", "one-vs-one, votes"],
  ["ovr", "one-vs-rest, highest score"],
  ["crammer_singer", "jointly (Crammer–Singer)"],
];
export const USES = { rbf: ["gamma"], poly: ["gamma", "degree"], linear: [], laplacian: ["gamma"], intersection: [] };
export const QUICK = ["rbf", "poly", "linear", "laplacian"]; // kernels fast enough to learn from more
const FIRST = { kernel: "rbf", gamma: 0.001, degree: 3, C: 5, multiclass: "ovo", copies: true, pen: true };

const inside = (value) => isNumber(value) && value >= 0 && value <= 1;

/** Strokes of any origin; what is none is left out. @returns {[number, number][][]} */
export function strokesOf(given) {
  if (!Array.isArray(given)) return [];
  let left = MOST_PLACES;
  const found = [];
  for (const stroke of given.slice(0, MOST_STROKES)) {
    if (!Array.isArray(stroke)) continue;
    const places = stroke.slice(0, left).filter((p) => Array.isArray(p) && inside(p[0]) && inside(p[1])).map(([x, y]) => [x, y]);
    left -= places.length;
    if (places.length) found.push(places);
  }
  return found;
}

/** Whether there is more than a dot. */
export function drawn(strokes) {
  const size = (axis) => {
    const values = strokes.flatMap((stroke) => stroke.map((p) => p[axis]));
    return Math.max(...values) - Math.min(...values);
  };
  return strokes.length > 0 && Math.max(size(0), size(1)) >= DOT;
}

/** The model's settings out of anything. */
export function classifierOf(given) {
  const asked = given !== null && typeof given === "object" ? given : {};
  const pick = (key, pairs) => (pairs.some(([name]) => name === asked[key]) ? asked[key] : FIRST[key]);
  const bounded = (key, least, most) => (isNumber(asked[key]) && asked[key] >= least && asked[key] <= most ? asked[key] : FIRST[key]);
  return {
    kernel: pick("kernel", KERNELS),
    gamma: bounded("gamma", 1e-9, 1e9),
    degree: Number.isInteger(asked.degree) ? bounded("degree", 1, 20) : FIRST.degree,
    C: asked.C === "inf" ? Infinity : bounded("C", 1e-9, 1e9),
    multiclass: pick("multiclass", SCHEMES),
    copies: typeof asked.copies === "boolean" ? asked.copies : FIRST.copies,
    pen: typeof asked.pen === "boolean" ? asked.pen : FIRST.pen,
  };
}

/** The settings for the server: those that the kernel has. */
export function classifierRequest({ kernel, C, multiclass, copies, pen, ...parameters }) {
  const own = Object.fromEntries(USES[kernel].map((key) => [key, parameters[key]]));
  return { kernel, ...own, C: penaltyOf(C), multiclass, ...(QUICK.includes(kernel) ? { copies, pen } : {}) };
}

const kept = /** @type {Map<string, string>} */ (new Map());

/** A picture as a part of the state. @param {string|null} picture data URL */
export function pictureState(picture) {
  if (!picture) return {};
  if (picture.length <= LONGEST) return { picture };
  let name = [...kept.keys()].find((key) => kept.get(key) === picture);
  if (!name) {
    name = `kept:${Date.now().toString(36)}`;
    kept.set(name, picture);
  }
  return { picture: name };
}

/** @returns {string|null|undefined} the picture; null where there is none, undefined where it was too long for the link */
export function pictureOf(given) {
  if (typeof given !== "string" || given === "") return null;
  if (given.startsWith("kept:")) return kept.get(given);
  return /^data:image\/(png|jpeg|webp);base64,[A-Za-z0-9+/=]+$/.test(given) ? given : null;
}
