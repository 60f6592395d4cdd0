/** The picture that is saved: the plane at twice the size of the screen, and below it what its marks mean. */

import { SLIDE } from "../film.js";
import { marker } from "../markers.js";
import { sheet } from "../plot.js";
import { captionOf } from "./compare.js";
import { mark } from "./picture.js";

/** @typedef {{plane: import("../plot.js").Plane, ctx: any, model: any, points: any[], options: any, fit: any}} Shown */

/** @param {Shown[]} shown one plane, or two side by side @returns {HTMLCanvasElement} */
export function savedPicture(shown) {
  const pictures = shown.map((one) => {
    const { width, height, rem } = one.plane.frame;
    const rows = rowsOf(one, width, rem);
    const { canvas, g } = sheet(width, height + 2 * rem * (rows.length + 1) + rem, one.ctx.palette());
    paint(g, one, rows, 0, { width, height, rem });
    return canvas;
  });
  if (pictures.length === 1) return pictures[0];
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: pictures[0].width + pictures[1].width, height: Math.max(...pictures.map((one) => one.height)) });
  pictures.forEach((one, k) => canvas.getContext("2d").drawImage(one, k * pictures[0].width, 0));
  return canvas;
}

/** The same as a slide of 1920 x 1080, for films. @param {HTMLCanvasElement} canvas @param {Shown[]} shown */
export function paintSlide(canvas, shown) {
  const g = canvas.getContext("2d");
  g.textBaseline = "middle";
  g.fillStyle = shown[0].ctx.palette().surface;
  g.fillRect(0, 0, SLIDE.width, SLIDE.height);
  const { rem } = SLIDE;
  const width = SLIDE.width / shown.length;
  shown.forEach((one, k) => {
    const rows = rowsOf(one, width, rem);
    paint(g, one, rows, k * width, { width, height: SLIDE.height - 2 * rem * (rows.length + 1) - rem, rem });
  });
}

const fontOf = (rem) => `${0.95 * rem}px system-ui, sans-serif`;
const rowsOf = ({ points, fit }, width, rem) => arrange(legend({ points }, fit), fontOf(rem), width - 2 * rem, 2.2 * rem);

/** One plane of so many pixels, at x from the left, and below it its caption and legend. */
function paint(g, { plane, ctx, model, options, fit }, rows, left, { width, height, rem }) {
  const line = 2 * rem;
  const palette = ctx.palette();
  g.save();
  g.translate(left, 0);
  plane.paintWithin(g, width, height, rem);
  g.font = fontOf(rem);
  g.fillStyle = palette.ink;
  g.fillText(captionOf(model, options, fit, ctx.settings.width), rem, height + line, width - 2 * rem);
  rows.forEach((row, k) => {
    const y = height + line * (k + 2);
    for (const { entry, x } of row) {
      entry.draw(g, palette, rem + x + 0.6 * rem, y, rem);
      g.fillStyle = palette.ink;
      g.fillText(entry.text, rem + x + 1.7 * rem, y);
    }
  });
  g.restore();
}

function legend({ points }, fit) {
  const classes = [...new Set(points.map((p) => p.c))].sort();
  const unit = (rem) => rem / 15;
  const shape = (k) => ({ text: `class ${k + 1}`, draw: (g, palette, x, y, rem) => marker(g, palette, k, x, y, 6.5 * unit(rem)) });
  const sample = (text, record) => ({
    text,
    draw(g, palette, x, y, rem) {
      const grey = { ...palette, classes: [palette.muted] };
      marker(g, grey, 0, x, y, 5.5 * unit(rem));
      mark(g, palette, record, x, y, 5.5 * unit(rem), unit(rem));
    },
  });
  if (!fit || fit.answer.kind === "inseparable") return classes.map(shape);
  return [
    ...classes.map(shape),
    sample("support vector on the margin", { support: true, category: "on" }),
    sample("inside the margin", { support: true, category: "inside" }),
    sample("on the wrong side", { support: true, category: "misclassified" }),
  ];
}

/** Entries in rows no wider than the picture. */
function arrange(entries, font, width, gap) {
  const g = new OffscreenCanvas(1, 1).getContext("2d");
  g.font = font;
  const rows = [[]];
  let x = 0;
  for (const entry of entries) {
    const size = gap + g.measureText(entry.text).width + gap / 2;
    if (x + size > width && rows.at(-1).length) {
      rows.push([]);
      x = 0;
    }
    rows.at(-1).push({ entry, x });
    x += size;
  }
  return rows;
}
