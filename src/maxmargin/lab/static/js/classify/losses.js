/**
 * What each point costs: the losses over the functional margin y f(x), and every point on the hinge, which the SVM sums up.
 *
 *     0-1: 1 where y f <= 0      hinge: max(0, 1 - y f)      squared hinge: max(0, 1 - y f)^2
 */

import { el } from "../dom.js";
import { marker } from "../markers.js";
import { chartOn } from "./chart.js";

const [LEAST, MOST] = [-2.5, 3]; // of y f; points beyond stand at the edge
const HIGH = 3.6;
const CURVE_NODES = 276; // one every 0.02

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
    const chart = root.open && chartOn(canvas, ctx, [LEAST, MOST], HIGH);
    if (!chart) return;
    const { g, rem, palette, area, px, py } = chart;
    for (const m of [-2, -1, 0, 1, 2]) {
      chart.curve([[px(m), area.bottom], [px(m), area.top]]);
      chart.below(String(m).replace("-", "−"), px(m));
    }
    chart.below("y f(x)", area.right - 0.8 * rem);
    LOSSES.forEach(({ name, of, dash, colour }, k) => {
      const places = Array.from({ length: CURVE_NODES }, (_, j) => LEAST + (j * (MOST - LEAST)) / (CURVE_NODES - 1));
      chart.curve(places.map((m) => (of(m) <= HIGH ? [px(m), py(of(m))] : null)), palette[colour], 2, dash);
      chart.word(name, area.right, (0.9 + 1.1 * k) * rem, "right", palette[colour]);
    });
    const within = (m) => Math.max(LEAST, Math.min(MOST, m));
    for (const { c, m } of shown) marker(g, palette, c, px(within(m)), py(Math.min(HIGH, LOSSES[1].of(m))), 0.23 * rem);
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
