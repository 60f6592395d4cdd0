/** The picture that is saved: the plane at twice the size of the screen, and below it what its marks mean. */

import { short } from "../dom.js";
import { marker } from "../markers.js";
import { kernelWords } from "../model.js";
import { Frame, sheet } from "../plot.js";
import { mark } from "./picture.js";

/** @returns {HTMLCanvasElement} */
export function savedPicture({ plane, ctx, model, options, fit }) {
  const { width, height, rem } = plane.frame;
  const line = 2 * rem;
  const font = `${0.95 * rem}px system-ui, sans-serif`;
  const rows = arrange(legend(model, fit), font, width - 2 * rem, 2.2 * rem);
  const palette = ctx.palette();
  const { canvas, g } = sheet(width, height + line * (rows.length + 1) + rem, palette);
  plane.paintOn(g, new Frame(plane.box, width, height, rem));
  g.font = font;
  g.fillStyle = palette.ink;
  g.fillText(caption(model, options, fit, ctx.settings.width), rem, height + line);
  rows.forEach((row, k) => {
    const y = height + line * (k + 2);
    for (const { entry, x } of row) {
      entry.draw(g, palette, rem + x + 0.6 * rem, y, rem);
      g.fillStyle = palette.ink;
      g.fillText(entry.text, rem + x + 1.7 * rem, y);
    }
  });
  return canvas;
}

function caption({ kernel, C }, options, fit, width) {
  const words = [kernelWords(kernel, options, width), `C = ${short(C)}`];
  if (fit?.answer.kind === "inseparable") words.push("no hard margin exists");
  else if (fit) words.push(`${fit.answer.n_support} support vectors`, `margin ${short(fit.answer.margin)}`);
  return words.join(", ");
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
