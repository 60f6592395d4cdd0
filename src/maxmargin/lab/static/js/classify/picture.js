/**
 * What Classify paints: the decision function as shading, contours at -1, 0 and +1, points, rings, slacks, and for a hard
 * margin that does not exist the proof. Each is a layer of the plane (plot.js).
 */

import { paintShade, shade, strokeLines, valueAt } from "../grid.js";
import { cross, paintPoints, ring } from "../markers.js";
import { axes, layered } from "../plot.js";
import { probabilityOf } from "./answer.js";
import { hulls, meeting } from "./proof.js";

const SATURATED = 2; // |f| at which the shading is strongest
const SLACKS = 400; // lines that are drawn at most

/** @param {any} picture state of the tab: {fit, points(), show, hover(), weak} */
export const layersOf = (picture) => layered([shading, ties, axes, contours, hulls, slacks, points, labels, meeting], picture);

function shading(g, frame, palette, { fit, show, probability }) {
  if (!fit || !show.shading) return;
  const certain = probability?.() && fit.answer.sigmoid;
  if (fit.theme !== `${palette.plane} ${certain}`) {
    const { winner, lead } = fit;
    const least = fit.planes.length > 1 ? 0.35 : 0; // with several classes borders are no valleys
    const most = fit.answer.kind === "inseparable" ? 0.15 : 1;
    fit.theme = `${palette.plane} ${certain}`;
    const p = (k) => probabilityOf(fit, fit.planes[0][k]);
    const strength = certain ? (k) => Math.abs(2 * p(k) - 1) : (k) => most * Math.min(1, least + lead[k] / SATURATED);
    fit.image = shade(fit.shaded, palette, (k) => fit.answer.classes[winner[k]], strength);
  }
  paintShade(g, frame, fit.image, fit.view);
}

/** Hatched: two classes or more have as many votes. */
function ties(g, frame, palette, { fit, show }) {
  if (!fit?.ties || !show.shading) return;
  const { nx, ny } = fit.shaded;
  const mask = new ImageData(nx, ny);
  fit.ties.forEach((tie, k) => (mask.data[4 * ((ny - 1 - Math.floor(k / nx)) * nx + (k % nx)) + 3] = 255 * tie));
  const small = new OffscreenCanvas(nx, ny);
  small.getContext("2d").putImageData(mask, 0, 0);
  const layer = new OffscreenCanvas(Math.ceil(frame.width), Math.ceil(frame.height));
  const on = layer.getContext("2d");
  paintShade(on, frame, small, fit.view);
  on.globalCompositeOperation = "source-in";
  on.fillStyle = hatching(on, palette.ink, frame.rem / 15);
  on.fillRect(0, 0, layer.width, layer.height);
  g.globalAlpha = 0.55;
  g.drawImage(layer, 0, 0);
}

/** Parallel lines as a pattern. */
function hatching(g, colour, unit) {
  const step = Math.round(8 * unit);
  const tile = new OffscreenCanvas(step, step);
  const on = tile.getContext("2d");
  on.strokeStyle = colour;
  on.lineWidth = 1.3 * unit;
  on.beginPath();
  for (const x of [-step, 0, step]) {
    on.moveTo(x, step);
    on.lineTo(x + step, 0);
  }
  on.stroke();
  return g.createPattern(tile, "repeat");
}

/** Names of the curves, near the upper edge (in present mode below its numbers) and apart from each other. */
function labels(g, frame, palette, { fit, show, points }) {
  if (!fit || fit.planes.length !== 1 || !show.contours || fit.answer.kind === "inseparable") return;
  const levels = fit.answer.kind === "one_class" ? [["0", "f = 0"]] : [["0", "f = 0"], ["1", "f = +1"], ["-1", "f = −1"]];
  const { rem } = frame;
  const taken = /** @type {[number, number][]} */ ([]);
  const dots = points().map((point) => [frame.px(point.x), frame.py(point.y)]);
  const covers = ([u, v], x, y) => Math.abs(u - x) < 2.8 * rem && Math.abs(v - y) < 1.3 * rem;
  g.font = `600 ${0.9 * rem}px system-ui, sans-serif`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const [level, text] of levels) {
    const lines = fit.lines[level];
    let best = /** @type {[number, number]|null} */ (null);
    let least = Infinity; // points that it hides
    for (let k = 0; k < lines.length; k += 4) {
      const [x, y] = [frame.px(lines[k]), frame.py(lines[k + 1])];
      const inside = x > 3 * rem && x < frame.width - 3 * rem && y > (frame.least ? 6 : 4.2) * rem && y < frame.height - 2.4 * rem;
      if (!inside || (least === 0 && y >= best[1])) continue;
      if (taken.some(([u, v]) => Math.abs(u - x) <= 4 * rem && Math.abs(v - y) <= 1.6 * rem)) continue;
      const hides = dots.reduce((count, dot) => count + Number(covers(dot, x, y)), 0);
      if (hides < least || (hides === least && y < best[1])) [best, least] = [[x, y], hides];
    }
    if (!best) continue;
    taken.push(best);
    const width = g.measureText(text).width + 0.6 * rem;
    g.fillStyle = palette.plane;
    g.beginPath();
    g.roundRect(best[0] - width / 2, best[1] - 0.65 * rem, width, 1.3 * rem, 0.3 * rem);
    g.fill();
    g.fillStyle = palette.ink;
    g.fillText(text, ...best);
  }
}

function contours(g, frame, palette, { fit, show }) {
  if (!fit || !show.contours || fit.answer.kind === "inseparable") return;
  g.strokeStyle = palette.ink;
  g.lineCap = "round";
  for (const [name, lines] of Object.entries(fit.lines)) {
    g.lineWidth = frame.pen(name === "-1" || name === "1" ? 1.6 : 2.8);
    g.setLineDash([]);
    g.globalAlpha = name === "-1" || name === "1" ? 0.75 : 1;
    strokeLines(g, frame, lines);
  }
}

function slacks(g, frame, palette, { fit, show, points }) {
  if (fit?.answer.kind !== "binary" || !show.slacks) return;
  g.strokeStyle = palette.ink;
  g.lineWidth = frame.pen(1.4);
  g.setLineDash([4, 3]);
  let drawn = 0;
  for (const point of points()) {
    const record = fit.records.get(point.id);
    if (!record || !(record.slack > 1e-3) || ++drawn > SLACKS) continue;
    const key = `${point.x} ${point.y}`;
    let path = fit.paths.get(point.id);
    if (path?.key !== key) {
      path = { key, steps: toMargin(fit, point.x, point.y, fit.answer.classes[1] === point.c ? 1 : -1) };
      fit.paths.set(point.id, path);
    }
    g.beginPath();
    path.steps.forEach(([x, y], k) => (k ? g.lineTo(frame.px(x), frame.py(y)) : g.moveTo(frame.px(x), frame.py(y))));
    g.stroke();
  }
}

/**
 * The way from a point to its margin y f = 1, straight up the function: for a linear kernel the perpendicular.
 * @returns {[number, number][]} empty where no way leads there
 */
export function toMargin(fit, x, y, sign) {
  const grid = { view: fit.view, nx: fit.nx, ny: fit.ny, values: fit.planes[0] };
  const h = 0.5 * Math.min((fit.view.x1 - fit.view.x0) / fit.nx, (fit.view.y1 - fit.view.y0) / fit.ny);
  const steps = /** @type {[number, number][]} */ ([[x, y]]);
  let f = sign * valueAt(grid, x, y);
  for (let k = 0; k < 600 && f < 1; k++) {
    const gx = valueAt(grid, x + h, y) - valueAt(grid, x - h, y);
    const gy = valueAt(grid, x, y + h) - valueAt(grid, x, y - h);
    const size = Math.hypot(gx, gy);
    if (!(size > 0)) break; // the edge of the grid, or flat ground
    const [u, v] = [x + (sign * h * gx) / size, y + (sign * h * gy) / size];
    const value = sign * valueAt(grid, u, v);
    if (!(value > f)) return []; // a hill below the margin: the point is alone in a sea of the other class
    const part = value > 1 ? (1 - f) / (value - f) : 1;
    [x, y, f] = [x + part * (u - x), y + part * (v - y), value];
    steps.push([x, y]);
  }
  return steps;
}

function points(g, frame, palette, { fit, show, points, hover, held }) {
  const hollow = held?.() ?? new Set();
  const rings = show.rings && fit?.answer.kind !== "inseparable" ? fit?.records : null;
  const sizes = [[600, 3.5], [200, 5], [0, 6.5]];
  paintPoints(g, frame, palette, { points: points(), hover: hover(), sizes, hollow }, (point, x, y, r, unit) => {
    const record = rings?.get(point.id);
    if (record) mark(g, palette, record, x, y, r, unit);
    const label = fit?.tested.get(point.id);
    if (label !== undefined && label !== point.c) cross(g, x, y, 0.62 * r, { colour: palette.ink, width: 2 * unit });
  });
}

/** Rings on support vectors, dashed inside the margin; a cross on points that are on the wrong side. */
export function mark(g, palette, record, x, y, r, unit) {
  const far = record.category === "inside" || record.category === "misclassified";
  if (record.support) ring(g, x, y, r + 4 * unit, { colour: palette.ink, width: 2 * unit, dash: far ? [3.5 * unit, 2.5 * unit] : [] });
  if (record.category === "misclassified") cross(g, x, y, 0.62 * r, { colour: palette.plane, width: 2 * unit });
}
