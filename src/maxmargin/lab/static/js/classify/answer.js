/** From the server's answer to what is painted: winners, lines, and which record belongs to which point. */

import { cell, contour } from "../grid.js";

const FINER = 3; // nodes between two of the server's, where the votes of pairs are counted

/**
 * An answer of the server made ready to paint.
 * @param {any} answer
 * @param {{view: import("../plot.js").Box, nx: number, ny: number, planes: Float32Array[], ids: number[], test?: number[], pairs: Float32Array[],
 *          live: boolean}} about planes: f, or the score of each class; pairs: of one-vs-one the model of each pair of classes
 */
export function prepared(answer, { view, nx, ny, planes, ids, test = [], pairs, live }) {
  const grid = (values) => ({ view, nx, ny, values });
  const records = new Map(ids.map((id, k) => [id, answer.points[k]]));
  const lines = /** @type {Record<string, number[]>} */ ({});
  const tested = new Map(test.map((id, k) => [id, answer.test?.predicted[k]])); // labels given to held-out points
  const found = { answer, view, nx, ny, planes, records, tested, lines, paths: new Map(), image: null, theme: "", shaded: { nx, ny }, ties: null };
  if (planes.length === 1) {
    if (answer.kind === "one_class") {
      const f = planes[0];
      const most = Math.max(1e-12, ...answer.points.map((point) => point.f));
      lines[0] = contour(grid(f), 0);
      return { ...found, winner: new Uint8Array(f.length), lead: f.map((value) => (value > 0 ? 0.6 + (1.4 * value) / most : 0)) };
    }
    for (const level of [-1, 0, 1]) lines[level] = contour(grid(planes[0]), level);
    return { ...found, ...signOf(planes[0]) };
  }
  if (!pairs.length) {
    const best = bestOf(planes);
    lines.borders = borders(planes, [], best.winner, grid);
    return { ...found, ...best };
  }
  // votes jump from node to node, the pairs that cast them do not: between nodes the pairs are interpolated, and vote there
  const times = live ? 1 : FINER;
  const size = { nx: (nx - 1) * times + 1, ny: (ny - 1) * times + 1 };
  const finer = times === 1 ? pairs : pairs.map((values) => refined(values, nx, ny, times));
  const votes = votesOf(finer, planes.length);
  const best = bestOf(votes.scores);
  lines.borders = borders(votes.scores, finer, best.winner, (values) => ({ view, ...size, values }));
  return { ...found, ...best, shaded: size, ties: votes.ties.includes(1) ? votes.ties : null };
}

/** P(second class) where the decision function is f, on its side of a half; null where there is no sigmoid. */
export function probabilityOf(fit, f) {
  const [slope, offset] = fit?.answer.sigmoid ?? [];
  if (slope === undefined || !Number.isFinite(f)) return null;
  return Math[f > 0 ? "max" : "min"](0.5, 1 / (1 + Math.exp(-(slope * f + offset))));
}

/** A grid with `times` as many steps, bilinear between the nodes. */
export function refined(values, nx, ny, times) {
  const [mx, my] = [(nx - 1) * times + 1, (ny - 1) * times + 1];
  const out = new Float32Array(mx * my);
  for (let row = 0; row < my; row++) {
    const j = Math.min(ny - 2, Math.floor(row / times));
    const t = row / times - j;
    for (let column = 0; column < mx; column++) {
      const i = Math.min(nx - 2, Math.floor(column / times));
      const s = column / times - i;
      const at = j * nx + i;
      const low = values[at] + s * (values[at + 1] - values[at]);
      const high = values[at + nx] + s * (values[at + nx + 1] - values[at + nx]);
      out[row * mx + column] = low + t * (high - low);
    }
  }
  return out;
}

/**
 * Votes of one-vs-one: f_ij > 0 is a vote for i. Where two classes or more have the most votes there is a tie, which the
 * sums of their f decide, brought below a third so that they never outweigh a vote.
 * @returns {{scores: Float32Array[], ties: Uint8Array}}
 */
export function votesOf(pairs, classes) {
  const size = pairs[0].length;
  const scores = Array.from({ length: classes }, () => new Float32Array(size));
  const ties = new Uint8Array(size);
  const names = pairsOf(classes);
  const [votes, sums] = [new Float32Array(classes), new Float32Array(classes)];
  for (let at = 0; at < size; at++) {
    votes.fill(0);
    sums.fill(0);
    names.forEach(([i, j], k) => {
      const f = pairs[k][at];
      votes[f > 0 ? i : j] += 1;
      sums[i] += f;
      sums[j] -= f;
    });
    const most = Math.max(...votes);
    let first = 0;
    for (let k = 0; k < classes; k++) {
      first += Number(votes[k] === most);
      scores[k][at] = votes[k] + sums[k] / (3 * (Math.abs(sums[k]) + 1));
    }
    ties[at] = Number(first > 1);
  }
  return { scores, ties };
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
 * Votes (one-vs-one) jump from node to node, so such a line would be a staircase. But votes change where a model changes
 * its mind: mostly that of i and j, on f_ij = 0; at the rim of the small regions in which the votes are equal another one,
 * whose sign then parts the nodes of i from those of j. Inside of these regions none does, and the scores, which confidence
 * completes, are smooth.
 */
function borders(planes, pairs, winner, grid) {
  const { view, nx, ny } = grid(planes[0]);
  const models = new Map(pairs.length ? pairsOf(planes.length).map(([i, j], k) => [`${i} ${j}`, grid(pairs[k])]) : []);
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
        const own = models.get(`${i} ${j}`);
        const turned = own && [own, ...models.values()].find(parts);
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
