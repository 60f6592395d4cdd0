/** The small charts of the panel: ground, scales of both axes, curves and words. */

import { halo, sharp } from "../plot.js";
import { stroke } from "../step/chart.js";

/**
 * An empty chart on a canvas, null while that is not on the screen.
 * @param {HTMLCanvasElement} canvas @param {any} ctx @param {[number, number]} ends of x @param {number} high y is from 0 to here
 */
export function chartOn(canvas, ctx, ends, high) {
  const found = sharp(canvas);
  if (!found) return null;
  const { g, width, height } = found;
  const { rem } = ctx.settings;
  const palette = ctx.palette();
  g.fillStyle = palette.plane;
  g.fillRect(0, 0, width, height);
  g.font = `${0.75 * rem}px system-ui, sans-serif`;
  g.textBaseline = "middle";
  const [left, right, top, bottom] = [2.6 * rem, width - 0.8 * rem, 1.1 * rem, height - 1.7 * rem];
  return {
    g,
    rem,
    palette,
    area: { left, right, top, bottom },
    px: (x) => left + ((right - left) * (x - ends[0])) / (ends[1] - ends[0]),
    py: (y) => bottom - ((bottom - top) * y) / high,
    /** A line through places in pixels; null interrupts it. @param {([number, number]|null)[]} places */
    curve(places, colour = palette.line, thickness = 1, dash = /** @type {number[]} */ ([])) {
      g.strokeStyle = colour;
      g.lineWidth = (thickness * rem) / 15;
      g.setLineDash(dash);
      stroke(g, places);
      g.setLineDash([]);
    },
    word(text, x, y, align = /** @type {CanvasTextAlign} */ ("center"), colour = palette.muted) {
      g.textAlign = align;
      halo(g, palette, text, x, y, colour);
    },
    /** A number below the chart, or what the numbers are. */
    below: (text, x, colour = palette.muted) => {
      g.textAlign = "center";
      halo(g, palette, text, x, height - 0.9 * rem, colour);
    },
  };
}
