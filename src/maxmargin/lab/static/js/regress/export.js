/** The picture that is saved: the plane and the strip of weights at twice the size of the screen, and a caption; the slide of a film. */

import { short } from "../dom.js";
import { SLIDE } from "../film.js";
import { Frame, sheet } from "../plot.js";

const NAMES = { degree: "degree", centres: "centres", sigma: "σ", lambda: "λ", C: "C", epsilon: "ε" };
const MODELS = { ridge_poly: "Ridge regression on powers of x", ridge_gauss: "Ridge regression on Gaussian bumps", kernel_ridge: "Kernel ridge regression", svr: "Support vector regression" };

/** @typedef {{plane: import("../plot.js").Plane, strip: import("../plot.js").Plane, ctx: any, settings: any, fit: any, show: any}} Shown */

/** @param {Shown} shown @returns {HTMLCanvasElement} */
export function savedPicture(shown) {
  const { width, height, rem } = shown.plane.frame;
  const below = shown.show.weights ? shown.strip.frame.height : 0;
  const { canvas, g } = sheet(width, height + below + 3 * rem, shown.ctx.palette());
  paint(g, shown, { width, height, below, rem });
  return canvas;
}

/** The same as a slide of 1920 x 1080, for films. @param {HTMLCanvasElement} canvas @param {Shown} shown */
export function paintSlide(canvas, shown) {
  const { width, rem } = SLIDE;
  const g = canvas.getContext("2d");
  g.fillStyle = shown.ctx.palette().surface;
  g.fillRect(0, 0, width, SLIDE.height);
  const room = SLIDE.height - 3 * rem;
  const below = shown.show.weights ? Math.round(0.22 * room) : 0;
  g.save();
  g.textBaseline = "middle";
  paint(g, shown, { width, height: room - below, below, rem });
  g.restore();
}

function paint(g, { plane, strip, ctx, settings, fit }, { width, height, below, rem }) {
  const palette = ctx.palette();
  plane.paintOn(g, new Frame(plane.box, width, height, rem, false));
  g.translate(0, height);
  if (below) {
    strip.paintOn(g, new Frame(strip.box, width, below, rem, false));
    g.fillStyle = palette.line;
    g.fillRect(0, -1, width, 2);
    g.translate(0, below);
  }
  g.font = `${0.95 * rem}px system-ui, sans-serif`;
  g.fillStyle = palette.ink;
  g.textAlign = "left";
  g.fillText(caption(settings, fit), rem, 1.5 * rem, width - 2 * rem);
}

function caption({ model, ...parameters }, fit) {
  const values = Object.entries(parameters).map(([key, value]) => (value === "points" ? "a bump on every point" : `${NAMES[key]} = ${short(value)}`));
  const words = [MODELS[model], ...values];
  if (fit) words.push(`training error ${short(fit.answer.rmse)}`);
  if (fit?.tube) words.push(`${fit.answer.support.length} support vectors`);
  return words.join(", ");
}
