/**
 * Beside the plane: objectives and gap over the run (logarithmic), and for every point its alpha and its room to the
 * margin. The curves are drawn up to the present frame; what is to come is faint.
 */

import { alphaBars, paths, roomBars } from "./bars.js";
import { inside } from "./chart.js";
import { curves } from "./curves.js";

/** @typedef {import("./chart.js").Area} Area */

const CHART_MIN_HEIGHT = 5.5; // rem, below which two stand beside each other, and then the type gets smaller
const CHART_MIN_WIDTH = 10; // rem, below which the type gets smaller
const CHART_MIN_TYPE = 0.6; // of the page's

/**
 * Where the four charts are: in a column, or two by two where there is more width or too little height.
 * @returns {Area[]}
 */
export function areas(width, height, rem) {
  const columns = width > 1.25 * height || width > 34 * rem || (height < 4 * CHART_MIN_HEIGHT * rem && width > 1.6 * CHART_MIN_WIDTH * rem) ? 2 : 1;
  const [w, h] = [width / columns, (height * columns) / 4];
  return Array.from({ length: 4 }, (_, k) => ({ x: (k % columns) * w, y: Math.floor(k / columns) * h, w, h }));
}

/** The size of type in a chart: that of the page, or less where the curve would have no room beside its words. */
export const typeIn = ({ w, h }, rem) => Math.max(CHART_MIN_TYPE * rem, Math.min(rem, w / CHART_MIN_WIDTH, h / CHART_MIN_HEIGHT));

/**
 * @param {CanvasRenderingContext2D} g
 * @param {{width: number, height: number, rem: number}} size
 * @param {any} palette @param {import("./picture.js").Scene} scene
 */
export function paintCharts(g, size, palette, scene) {
  g.fillStyle = palette.plane;
  g.fillRect(0, 0, size.width, size.height);
  const { run } = scene;
  if (!run) return;
  const [objectives, gaps, alphas, rooms] = areas(size.width, size.height, size.rem);
  const style = { g, palette, rem: typeIn(objectives, size.rem) };
  curves(style, objectives, scene, "objective", [
    { name: run.solver === "perceptron" ? "loss" : "primal", values: run.answer.curves.primal, colour: palette.accent },
    { name: "dual", values: run.answer.curves.dual, colour: palette.warn },
  ], run.solver === "perceptron" ? null : run.answer.final.primal);
  const mu = run.frames.map((frame) => frame.mu ?? null);
  curves(style, gaps, scene, "", [
    { name: "gap", values: run.answer.curves.gap, colour: palette.ink },
    { name: "violation", values: run.answer.curves.violation, colour: palette.classes[3] },
    ...(mu.some((value) => value > 0) ? [{ name: "μ", values: mu, colour: palette.classes[2] }] : []),
  ]);
  if (run.solver === "barrier") paths(style, alphas, scene);
  else alphaBars(style, alphas, scene);
  roomBars(style, rooms, scene);
}

/** The frame of the run at a place in one of the curves; null beside them. */
export function frameUnder(run, size, px, py) {
  for (const area of areas(size.width, size.height, size.rem).slice(0, 2)) {
    if (px < area.x || px > area.x + area.w || py < area.y || py > area.y + area.h) continue;
    const box = inside(area, typeIn(area, size.rem));
    const share = Math.max(0, Math.min(1, (px - box.x) / box.w));
    return run.frameAt(Math.round(share * run.frames[run.last].iteration));
  }
  return null;
}
