/**
 * What each point costs: the losses over the functional margin y f(x), and every point on the hinge, which the SVM sums up.
 *
 *     0-1: 1 where y f <= 0      hinge: max(0, 1 - y f)      squared hinge: max(0, 1 - y f)^2
 */

import { el } from "../dom.js";
import { marker } from "../markers.js";
import { halo, sharp } from "../plot.js";

const [LEAST, MOST] = [-2.5, 3]; // of y f; points beyond stand at the edge
const HIGH = 3.6;

export const LOSSES = [
  { name: "0-1, the count of errors", of: (m) => Number(m <= 0), dash: [2, 3], colour: "muted" },
  { name: "hinge", of: (m) => Math.max(0, 1 - m), dash: [], colour: "ink" },
  { name: "squared hinge", of: (m) => Math.max(0, 1 - m) ** 2, dash: [7, 4], colour: "accent" },
];

/** @param {any} ctx */
export function createLosses(ctx) {
  const canvas = el("canvas", { role: "img", "aria-label": "Losses over y f(x), with every point on the hinge loss" });
  const root = el("details", { class: "losses", hidden: true }, el("summary", {}, "Losses of the points"), el("div", { class: "plot" }, canvas));
  let shown = /** @type {{c: number, m: number}[]} */ ([]);

  function paint() {
    const found = root.open && sharp(canvas);
    if (!found) return;
    const { g, width, height } = found;
    const palette = ctx.palette();
    const { rem } = ctx.settings;
    const px = (m) => 1.6 * rem + ((width - 2.2 * rem) * (Math.max(LEAST, Math.min(MOST, m)) - LEAST)) / (MOST - LEAST);
    const py = (loss) => height - 1.6 * rem - ((height - 2.4 * rem) * loss) / HIGH;
    g.fillStyle = palette.plane;
    g.fillRect(0, 0, width, height);
    g.font = `${0.75 * rem}px system-ui, sans-serif`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.lineWidth = 1;
    g.strokeStyle = palette.line;
    for (const m of [-2, -1, 0, 1, 2]) {
      g.beginPath();
      g.moveTo(px(m), py(0));
      g.lineTo(px(m), py(HIGH));
      g.stroke();
      halo(g, palette, String(m).replace("-", "−"), px(m), height - 0.8 * rem);
    }
    halo(g, palette, "y f(x)", width - 1.6 * rem, height - 0.8 * rem);
    LOSSES.forEach(({ name, of, dash, colour }, k) => {
      g.strokeStyle = palette[colour];
      g.lineWidth = 2;
      g.save();
      g.beginPath();
      g.rect(0, py(HIGH), width, height);
      g.clip();
      g.setLineDash(dash);
      g.beginPath();
      for (let m = LEAST; m <= MOST; m += 0.02) g[m === LEAST ? "moveTo" : "lineTo"](px(m), py(of(m)));
      g.stroke();
      g.restore();
      g.textAlign = "right";
      halo(g, palette, name, width - 0.8 * rem, (0.9 + 1.1 * k) * rem, palette[colour]);
    });
    for (const { c, m } of shown) marker(g, palette, c, px(m), py(Math.min(HIGH, LOSSES[1].of(m))), 3.5);
  }

  root.addEventListener("toggle", paint);
  ctx.onSettings(paint);
  return {
    root,
    /** @param {{c: number, m: number}[]} points the class and y f of each; empty where there is no binary model */
    show(points) {
      shown = points;
      root.hidden = !points.length;
      paint();
    },
  };
}
