/** Polygons in space, as lists of corners: cut by planes, and broken into pieces that can be sorted by distance. */

/** @typedef {import("./camera.js").Vector} Vector */

/** @returns {Vector} */
export const mix = (a, b, t) => [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])];

/** @param {Vector[]} corners @returns {Vector} */
export function middle(corners) {
  const sum = [0, 0, 0];
  for (const p of corners) for (let j = 0; j < 3; j++) sum[j] += p[j] / corners.length;
  return /** @type {Vector} */ (sum);
}

/** The part of a convex polygon where sign * p[axis] <= limit. @param {Vector[]} corners @returns {Vector[]} */
export function cut(corners, axis, sign, limit) {
  const kept = [];
  corners.forEach((p, k) => {
    const q = corners[(k + 1) % corners.length];
    const [a, b] = [sign * p[axis] - limit, sign * q[axis] - limit];
    if (a <= 0) kept.push(p);
    if (a <= 0 !== b <= 0) kept.push(mix(p, q, a / (a - b)));
  });
  return kept;
}

/** The part of a polygon inside the cube from -limit to limit. @param {Vector[]} corners @returns {Vector[]} */
export function inCube(corners, limit = 1) {
  let kept = corners;
  for (let axis = 0; axis < 3 && kept.length; axis++) {
    if (kept.some((p) => Math.abs(p[axis]) > limit)) kept = cut(cut(kept, axis, 1, limit), axis, -1, limit);
  }
  return kept;
}

/** Pieces of a convex polygon no longer than `size` along any axis. @param {Vector[]} corners @returns {Vector[][]} */
export function shatter(corners, size, depth = 12) {
  if (corners.length < 3) return [];
  let longest = 0;
  let axis = 0;
  for (let j = 0; j < 3; j++) {
    const along = corners.map((p) => p[j]);
    const extent = Math.max(...along) - Math.min(...along);
    if (extent > longest) [longest, axis] = [extent, j];
  }
  if (longest <= size || depth === 0) return [corners];
  const along = corners.map((p) => p[axis]);
  const at = (Math.max(...along) + Math.min(...along)) / 2;
  return [...shatter(cut(corners, axis, 1, at), size, depth - 1), ...shatter(cut(corners, axis, -1, -at), size, depth - 1)];
}
