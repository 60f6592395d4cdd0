/** Why no line separates two classes: a point that is in the convex hulls of both. */

import { hull } from "../classify/proof.js";

const ROUNDING = 1e-12;

/**
 * The proof of POST /api/classify for points of two classes, with weights as third numbers; null where a line separates
 * them. Hulls that overlap have a corner of one inside the other, or edges that cross.
 * @param {number[][]} A @param {number[][]} B
 * @returns {{a: number[][], b: number[][], meet: number[]}|null}
 */
export function commonPoint(A, B) {
  const [a, b] = [hull(A), hull(B)];
  for (const p of a) {
    const terms = mixture(p, b);
    if (terms) return { a: [[p[0], p[1], 1]], b: terms, meet: [p[0], p[1]] };
  }
  for (const p of b) {
    const terms = mixture(p, a);
    if (terms) return { a: terms, b: [[p[0], p[1], 1]], meet: [p[0], p[1]] };
  }
  for (const [p, q] of edges(a)) {
    for (const [r, s] of edges(b)) {
      const found = crossing(p, q, r, s);
      if (found) return found;
    }
  }
  return null;
}

const edges = (corners) => corners.map((p, k) => [p, corners[(k + 1) % corners.length]]);

/** (q - p) x (r - p), twice the area of a triangle. */
const area = (p, q, r) => (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);

/** A point of a polygon as a mixture of three corners; null outside of it. */
function mixture(p, corners) {
  const [first, ...rest] = corners;
  for (let k = 0; k + 1 < rest.length; k++) {
    const all = area(first, rest[k], rest[k + 1]);
    const weights = [area(p, rest[k], rest[k + 1]), area(first, p, rest[k + 1]), area(first, rest[k], p)].map((part) => part / all);
    if (weights.every((weight) => weight >= -ROUNDING)) {
      return [first, rest[k], rest[k + 1]].map((corner, j) => [corner[0], corner[1], Math.max(0, weights[j])]).filter(([, , weight]) => weight > 0);
    }
  }
  return null;
}

function crossing(p, q, r, s) {
  const [u, v, x, y] = [area(r, s, p), area(r, s, q), area(p, q, r), area(p, q, s)];
  if (u === v || x === y || u * v > 0 || x * y > 0) return null;
  const [t, z] = [u / (u - v), x / (x - y)];
  const meet = [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])];
  return { a: [[p[0], p[1], 1 - t], [q[0], q[1], t]], b: [[r[0], r[1], 1 - z], [s[0], s[1], z]], meet };
}
