/**
 * The strip below the plane: one stem for each training point, as high as its weight b_i(x) in
 *
 *     f(x) = sum_i b_i(x) y_i
 *
 * where x is the line of the cursor (for support vector regression its terms a_i k(x_i, x)). It shares the x axis of the
 * plane. A press on it moves the cursor, and so do the arrow keys while it has the focus.
 */

import { el, short } from "../dom.js";
import { Plane, halo, ticks, upright } from "../plot.js";

const ROOM = 1.3; // of the largest stem: some air, and
const WORDS = 3; // rem for the words above, at least
const STEP = 0.01; // of the width, for an arrow key

/**
 * @param {{ctx: any, plane: Plane, points: () => any[], at: () => number|null, move: (x: number) => void}} host
 */
export function createStrip({ ctx, plane, points, at, move }) {
  const canvas = el("canvas", { role: "slider", tabindex: 0, "aria-label": "Where the weights are shown: x" });
  const strip = new Plane(canvas, { ctx, box: { x0: -1, x1: 1, y0: -0.2, y1: 1 }, equal: false });
  let blend = /** @type {any} */ (null); // {weights by id, exact}
  let reach = [0, 0]; // of the stems so far: the scale must not dance while the cursor moves

  strip.layers = [grid, stems, words];

  /** Round numbers that have room. */
  function heights(frame) {
    const { y0, y1 } = frame.view;
    const fits = (t) => frame.py(t) >= 2.1 * frame.rem && (t === 0 || frame.py(t) <= frame.height - 0.6 * frame.rem);
    return ticks(y0, y1, frame.height / (2.2 * frame.rem)).filter(fits);
  }

  function grid(g, frame, palette) {
    for (const t of heights(frame)) {
      const y = Math.round(frame.py(t)) + 0.5;
      g.strokeStyle = palette.muted;
      g.globalAlpha = t === 0 ? 0.6 : 0.13;
      g.lineWidth = 1;
      g.beginPath();
      g.moveTo(0.35 * frame.rem, y); // as in plot.js
      g.lineTo(frame.width, y);
      g.stroke();
      g.globalAlpha = 1;
    }
    if (!blend || at() === null) return;
    upright(g, frame, palette, at());
  }

  function stems(g, frame, palette) {
    if (!blend) return;
    const unit = frame.rem / 15;
    const width = Math.max(1.5, Math.min(5, (0.5 * frame.width) / blend.weights.size)) * unit;
    const zero = frame.py(0);
    for (const point of points()) {
      const weight = blend.weights.get(point.id);
      if (!weight) continue; // of the support vector machine most terms are none
      const [x, y] = [frame.px(point.x), frame.py(weight)];
      g.strokeStyle = g.fillStyle = palette.classes[weight < 0 ? 1 : 0];
      g.lineWidth = width;
      g.beginPath();
      g.moveTo(x, zero);
      g.lineTo(x, y);
      g.stroke();
      g.beginPath();
      g.arc(x, y, 0.9 * width, 0, 2 * Math.PI);
      g.fill();
    }
  }

  /** Above the stems, so that they hide no number. */
  function words(g, frame, palette) {
    g.font = `${0.78 * frame.rem}px system-ui, sans-serif`;
    g.textBaseline = "middle";
    for (const t of heights(frame)) halo(g, palette, short(t), 0.35 * frame.rem, Math.round(frame.py(t)) + 0.5);
    const text = blend && !blend.exact ? "terms aᵢ k(xᵢ, x) of f(x)" : "weights bᵢ(x):  f(x) = Σ bᵢ(x) yᵢ";
    g.font = `600 ${0.85 * frame.rem}px system-ui, sans-serif`;
    g.textBaseline = "top";
    halo(g, palette, text, 0.6 * frame.rem, 0.4 * frame.rem, palette.muted, 0.25 * frame.rem);
  }

  /** The plane's x axis; upwards all stems, and zero. */
  function fit() {
    const { x0, x1 } = plane.frame.view;
    const [low, high] = reach;
    const size = high - low || 1;
    const { height, rem } = strip.frame;
    strip.setBox({ x0, x1, y0: low - 0.12 * size, y1: low + Math.max(ROOM, height / (height - WORDS * rem)) * size });
  }

  const follow = (event) => move(strip.frame.x(strip.pixel(event)[0]));
  canvas.addEventListener("pointermove", follow);
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    follow(event);
  });
  canvas.addEventListener("keydown", (event) => {
    const { x0, x1 } = strip.frame.view;
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    const end = { Home: x0, End: x1 }[event.key];
    if (step === undefined && end === undefined) return;
    event.preventDefault();
    const x = end ?? (at() ?? (x0 + x1) / 2) + step * (event.shiftKey ? 5 : 1) * STEP * (x1 - x0);
    move(Math.max(x0, Math.min(x1, x)));
  });

  return {
    root: el("div", { class: "plot strip" }, canvas),
    plane: strip,
    fit,
    redraw: () => strip.redraw(),
    /**
     * @param {any} answer of POST /api/blend, or null
     * @param {number[]} [ids] of the points it is about
     * @param {boolean} [fresh] another curve: the scale begins anew
     */
    show(answer, ids = [], fresh = false) {
      blend = answer && { exact: answer.exact, weights: new Map(ids.map((id, k) => [id, answer.weights[k]])) };
      const values = (answer?.weights ?? []).filter((value) => value !== null);
      const [low, high] = fresh ? [0, 0] : reach;
      reach = [Math.min(low, ...values), Math.max(high, ...values)];
      fit();
    },
    /** Tells where the cursor is, to screen readers too. */
    moved() {
      const { x0, x1 } = strip.frame.view;
      const x = at();
      for (const [name, value] of [["min", x0], ["max", x1], ["now", x ?? x0]]) canvas.setAttribute(`aria-value${name}`, value.toPrecision(4));
      canvas.setAttribute("aria-valuetext", x === null ? "nowhere" : `x = ${short(x)}`);
      strip.redraw();
    },
  };
}
