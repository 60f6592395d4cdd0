/** Curves over the steps of a run, on a logarithmic axis: what is to come is faint. */

import { dot, ground, inside, stroke, title } from "./chart.js";

const DECADES = 9; // that the axis shows at most

/** Powers of ten between two numbers, every second or third where they are many. */
export function decades(low, high, most) {
  const [a, b] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((b - a + 1) / Math.max(1, most)));
  const found = [];
  for (let e = b; e >= a; e -= step) found.push(e);
  return found;
}

/** The part of a logarithmic axis that shows these values. @returns {[number, number]} */
export function span(values) {
  const positive = values.filter((value) => value > 0);
  if (!positive.length) return [0.1, 1];
  const high = Math.max(...positive);
  const low = Math.max(Math.min(...positive), high / 10 ** DECADES);
  const middle = Math.sqrt(low * high);
  const wide = Math.max(high / low, 10) ** 0.54; // a decade at least, and some air
  return [middle / wide, middle * wide];
}

/**
 * @param {import("./chart.js").Style} style @param {import("./chart.js").Area} area
 * @param {import("./picture.js").Scene} scene
 * @param {{name: string, values: (number|null)[], colour: string}[]} lines those without a positive value are left out
 * @param {number|null} [best] the value to reach, dashed
 */
export function curves(style, area, { run, k }, heading, lines, best = null) {
  const { g, palette, rem } = style;
  const shown = lines.filter((line) => line.values.some((value) => value > 0));
  const box = inside(area, rem);
  title(style, area, [...(heading ? [[heading, null]] : []), ...shown.map((line) => [line.name, line.colour])]);
  ground(style, box);
  const [low, high] = span([...shown.flatMap((line) => line.values), ...(best > 0 ? [best] : [])]);
  const iterations = run.answer.curves.iteration;
  const px = (at) => box.x + (box.w * at) / Math.max(1, iterations.at(-1));
  const py = (value) => box.y + box.h * (1 - Math.max(0, Math.min(1, Math.log(Math.max(value, low) / low) / Math.log(high / low))));
  g.font = `${0.75 * rem}px system-ui, sans-serif`;
  g.textAlign = "right";
  for (const e of decades(low, high, box.h / (1.5 * rem))) {
    const y = Math.round(py(10 ** e)) + 0.5;
    g.globalAlpha = 0.5;
    g.strokeStyle = palette.line;
    g.beginPath();
    g.moveTo(box.x, y);
    g.lineTo(box.x + box.w, y);
    g.stroke();
    g.globalAlpha = 1;
    g.fillStyle = palette.muted;
    if (y > box.y + 0.4 * rem) g.fillText(power(e), box.x - 0.3 * rem, y); // above it stands the title
  }
  if (best > 0) {
    g.strokeStyle = palette.muted;
    g.setLineDash([5, 4]);
    g.beginPath();
    g.moveTo(box.x, py(best));
    g.lineTo(box.x + box.w, py(best));
    g.stroke();
    g.setLineDash([]);
  }
  g.save();
  g.beginPath();
  g.rect(box.x - 3, box.y - 3, box.w + 6, box.h + 6);
  g.clip();
  for (const { values, colour } of shown) {
    g.strokeStyle = colour;
    g.lineWidth = (2.6 * rem) / 15; // three pixels at least on a projector
    for (const [end, alpha] of [[run.last, 0.16], [k, 1]]) {
      g.globalAlpha = alpha;
      stroke(g, values.slice(0, end + 1).map((value, j) => (value === null ? null : [px(iterations[j]), py(value)])));
    }
  }
  g.restore();
  for (const { values, colour } of shown) { // at the first and the last step they stand across the frame
    g.fillStyle = colour;
    if (values[k] > 0) dot(g, px(iterations[k]), py(values[k]), 0.27 * rem);
  }
}

const SMALL_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (e) => (e === 0 ? "1" : e === 1 ? "10" : `10${e < 0 ? "⁻" : ""}${[...String(Math.abs(e))].map((d) => SMALL_DIGITS[Number(d)]).join("")}`);
