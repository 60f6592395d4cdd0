/** The picture that is saved: the plane and the strip of weights at twice the size of the screen, and a caption. */

import { short } from "../dom.js";
import { Frame, sheet } from "../plot.js";

const NAMES = { degree: "degree", centres: "centres", sigma: "σ", lambda: "λ", C: "C", epsilon: "ε" };
const MODELS = { ridge_poly: "Ridge regression on powers of x", ridge_gauss: "Ridge regression on Gaussian bumps", kernel_ridge: "Kernel ridge regression", svr: "Support vector regression" };

/** @returns {HTMLCanvasElement} */
export function savedPicture({ plane, strip, ctx, settings, fit, show }) {
  const { width, height, rem } = plane.frame;
  const below = show.weights ? strip.frame.height : 0;
  const palette = ctx.palette();
  const { canvas, g } = sheet(width, height + below + 3 * rem, palette);
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
  g.fillText(caption(settings, fit), rem, 1.5 * rem, width - 2 * rem);
  return canvas;
}

function caption({ model, ...parameters }, fit) {
  const values = Object.entries(parameters).map(([key, value]) => (value === "points" ? "a bump on every point" : `${NAMES[key]} = ${short(value)}`));
  const words = [MODELS[model], ...values];
  if (fit) words.push(`training error ${short(fit.answer.rmse)}`);
  if (fit?.tube) words.push(`${fit.answer.support.length} support vectors`);
  return words.join(", ");
}
