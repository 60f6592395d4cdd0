/**
 * Values on a grid of nodes: shading, contours, and values in between.
 *
 * Node (i, j), column i and row j counted upwards, lies at x0 + i dx, y0 + j dy with dx = (x1 - x0) / (nx - 1): the
 * first and the last node are on the edge of the view.
 */

import { rgb } from "./theme.js";

/** @typedef {{view: import("./plot.js").Box, nx: number, ny: number, values: Float32Array}} Grid */

/** Bilinear value at a point; NaN outside. @param {Grid} grid */
export function valueAt({ view, nx, ny, values }, x, y) {
  const u = ((x - view.x0) / (view.x1 - view.x0)) * (nx - 1);
  const v = ((y - view.y0) / (view.y1 - view.y0)) * (ny - 1);
  const i = Math.min(nx - 2, Math.floor(u));
  const j = Math.min(ny - 2, Math.floor(v));
  if (!(i >= 0 && j >= 0 && u <= nx - 1 && v <= ny - 1)) return NaN;
  const [s, t, at] = [u - i, v - j, j * nx + i];
  const low = values[at] * (1 - s) + values[at + 1] * s;
  const high = values[at + nx] * (1 - s) + values[at + nx + 1] * s;
  return low * (1 - t) + high * t;
}

/**
 * Lines on which the values equal `level`, by marching squares.
 * @param {Grid} grid @param {number} level
 * @returns {number[]} x, y, x, y of one piece after the other
 */
export function contour(grid, level) {
  const out = /** @type {number[]} */ ([]);
  for (let j = 0; j < grid.ny - 1; j++) for (let i = 0; i < grid.nx - 1; i++) cell(grid, level, i, j, out);
  return out;
}

/**
 * The pieces in one cell, added to `out`: the level crosses the sides whose ends lie on both sides of it, at the place
 * that linear interpolation gives. Where it crosses all four sides the value in the middle tells which belong together.
 * @returns {boolean} whether there are any
 */
export function cell({ view, nx, ny, values }, level, i, j, out) {
  const at = j * nx + i;
  const a = values[at] - level; //          d --- c
  const b = values[at + 1] - level; //      |     |
  const c = values[at + nx + 1] - level; // a --- b
  const d = values[at + nx] - level;
  const [sa, sb, sc, sd] = [a > 0, b > 0, c > 0, d > 0];
  if (sa === sb && sb === sc && sc === sd) return false;
  const dx = (view.x1 - view.x0) / (nx - 1);
  const dy = (view.y1 - view.y0) / (ny - 1);
  const x = view.x0 + i * dx;
  const y = view.y0 + j * dy;
  const cross = [];
  if (sa !== sb) cross.push(x + (dx * a) / (a - b), y);
  if (sb !== sc) cross.push(x + dx, y + (dy * b) / (b - c));
  if (sc !== sd) cross.push(x + (dx * d) / (d - c), y + dy);
  if (sd !== sa) cross.push(x, y + (dy * a) / (a - d));
  // bottom-right and top-left keep a and c together; otherwise right-top and left-bottom
  if (cross.length === 8 && a + b + c + d > 0 !== sa) cross.push(...cross.splice(0, 2));
  out.push(...cross);
  return true;
}

/** Draws such lines. @param {CanvasRenderingContext2D} g @param {import("./plot.js").Frame} frame */
export function strokeLines(g, frame, lines) {
  g.beginPath();
  for (let k = 0; k < lines.length; k += 4) {
    g.moveTo(frame.px(lines[k]), frame.py(lines[k + 1]));
    g.lineTo(frame.px(lines[k + 2]), frame.py(lines[k + 3]));
  }
  g.stroke();
}

/**
 * An image with one pixel a node: `side(k)` is the class of node k (its colour), `strength(k)` from 0 (the plane's
 * colour) to 1.
 * @param {{nx: number, ny: number}} size
 */
export function shade({ nx, ny }, palette, side, strength) {
  const image = new ImageData(nx, ny);
  const ground = rgb(palette.plane);
  const colours = palette.classes.map(rgb);
  const most = palette.dark ? 0.42 : 0.36;
  for (let j = 0; j < ny; j++) {
    for (let i = 0; i < nx; i++) {
      const k = j * nx + i;
      const mix = most * Math.max(0, Math.min(1, strength(k)));
      const colour = colours[side(k)];
      const to = 4 * ((ny - 1 - j) * nx + i); // images count rows downwards
      for (let c = 0; c < 3; c++) image.data[to + c] = ground[c] + (colour[c] - ground[c]) * mix;
      image.data[to + 3] = 255;
    }
  }
  const canvas = new OffscreenCanvas(nx, ny);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** Paints such an image where its view is: pixels are centred on nodes, so it sticks out by half a cell. */
export function paintShade(g, frame, image, view) {
  const dx = (view.x1 - view.x0) / (image.width - 1) / 2;
  const dy = (view.y1 - view.y0) / (image.height - 1) / 2;
  const left = frame.px(view.x0 - dx);
  const top = frame.py(view.y1 + dy);
  g.imageSmoothingEnabled = true;
  g.imageSmoothingQuality = "high";
  g.drawImage(image, left, top, frame.px(view.x1 + dx) - left, frame.py(view.y0 - dy) - top);
}
