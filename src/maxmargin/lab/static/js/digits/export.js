/** The picture that is saved: the drawing, what the model sees of it, and what it says. */

import { Frame } from "../plot.js";
import { paintPixels } from "./pixels.js";

const SIDE = 640; // pixels of each of the two squares
const GAP = 40;

/** @returns {HTMLCanvasElement|null} */
export function savedPicture({ pad, ctx, answer }) {
  if (!answer) return null;
  const canvas = document.createElement("canvas");
  canvas.width = 2 * SIDE + 3 * GAP;
  canvas.height = SIDE + 2 * GAP + 60;
  const g = canvas.getContext("2d");
  const palette = ctx.palette();
  g.fillStyle = palette.surface;
  g.fillRect(0, 0, canvas.width, canvas.height);
  g.translate(GAP, GAP);
  pad.plane.paintOn(g, new Frame(pad.plane.box, SIDE, SIDE, 30));
  paintPixels(g, palette, answer.seen, { x: SIDE + GAP, size: SIDE, numbers: true });
  g.strokeStyle = palette.muted;
  g.lineWidth = 1;
  for (const x of [0, SIDE + GAP]) g.strokeRect(x + 0.5, 0.5, SIDE, SIDE);
  g.fillStyle = palette.ink;
  g.font = "32px system-ui, sans-serif";
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.fillText(answer.comment[0], 0, SIDE + 50, canvas.width - 2 * GAP);
  return canvas;
}
