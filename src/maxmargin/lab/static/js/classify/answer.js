/** From the server's answer to what is painted: winners, lines, and which record belongs to which point. */

import { cell, contour } from "../grid.js";

/**
 * An answer of the server made ready to paint.
 * @param {any} answer
 * @param {{view: import("../plot.js").Box, nx: number, ny: number, planes: Float32Array[], ids: number[], pairs: Float32Array[]}} about
 *        planes: f, or the score of each class; pairs: of one-vs-one the machine of each pair of classes
 */
export function prepared(answer, { view, nx, ny, planes, ids, pairs }) {
  const grid = (values) => ({ view, nx, ny, values });
  const records = new Map(ids.map((id, k) => [id, answer.points[k]]));
  const lines = /** @type {Record<string, number[]>} */ ({});
  const { winner, lead } = planes.length === 1 ? signOf(planes[0]) : bestOf(planes);
  if (planes.length === 1) for (const level of [-1, 0, 1]) lines[level] = contour(grid(planes[0]), level);
  else lines.borders = borders(planes, pairs, winner, grid);
  return { answer, view, nx, ny, planes, records, lines, winner, lead, paths: new Map(), image: null, theme: "" };
}

/** Of two classes: on which side each node is, and how far. */
function signOf(f) {
  return { winner: Uint8Array.from(f, (value) => Number(value > 0)), lead: f.map(Math.abs) };
}

/** Of several: which score is the highest at each node, and how far it is ahead of the next. */
function bestOf(planes) {
  const winner = new Uint8Array(planes[0].length);
  const lead = new Float32Array(planes[0].length);
  for (let at = 0; at < winner.length; at++) {
    let [best, next] = [-Infinity, -Infinity];
    for (let k = 0; k < planes.length; k++) {
      const value = planes[k][at];
      if (value > best) [best, next, winner[at]] = [value, best, k];
      else if (value > next) next = value;
    }
    lead[at] = best - next;
  }
  return { winner, lead };
}

/**
 * The borders between classes: in cells with nodes of classes i and j the line on which their scores are equal.
 *
 * Votes (one-vs-one) jump from node to node, so such a line would be a staircase. But votes change where a machine changes
 * its mind: mostly that of i and j, on f_ij = 0; at the rim of the small regions in which the votes are equal another one,
 * whose sign then parts the nodes of i from those of j. Inside of these regions none does, and the scores, which confidence
 * completes, are smooth.
 */
function borders(planes, pairs, winner, grid) {
  const { view, nx, ny } = grid(planes[0]);
  const machines = new Map(pairs.length ? pairsOf(planes.length).map(([i, j], k) => [`${i} ${j}`, grid(pairs[k])]) : []);
  const out = /** @type {number[]} */ ([]);
  for (let row = 0; row < ny - 1; row++) {
    for (let column = 0; column < nx - 1; column++) {
      const at = row * nx + column;
      const corners = [at, at + 1, at + nx, at + nx + 1];
      if (corners.every((k) => winner[k] === winner[at])) continue;
      const here = [...new Set(corners.map((k) => winner[k]))].sort((p, q) => p - q);
      for (const [p, q] of pairsOf(here.length)) {
        const [i, j] = [here[p], here[q]];
        const sides = (values, k) => corners.filter((corner) => winner[corner] === k).map((corner) => values[corner] > 0);
        const parts = ({ values }) => new Set(sides(values, i)).size === 1 && sides(values, j).every((side) => side !== sides(values, i)[0]);
        const own = machines.get(`${i} ${j}`);
        const turned = own && [own, ...machines.values()].find(parts);
        cell(turned ?? { view, nx, ny, values: difference(planes[i], planes[j], corners) }, 0, column, row, out);
      }
    }
  }
  return out;
}

/** [0, 1], [0, 2], ..., [n - 2, n - 1]. */
const pairsOf = (n) => Array.from({ length: n }, (_, i) => Array.from({ length: n - 1 - i }, (_, k) => [i, i + 1 + k])).flat();

/** a - b at the corners of a cell, under their numbers. */
const difference = (a, b, corners) => Object.fromEntries(corners.map((k) => [k, a[k] - b[k]]));
