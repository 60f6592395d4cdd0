/** 8 x 8 numbers, 0 (paper) to 16 (ink), as large pixels. */

import { rgb } from "../theme.js";

const MOST = 16;

/**
 * @param {CanvasRenderingContext2D} g
 * @param {any} palette
 * @param {number[][]|null} image null for paper without ink
 * @param {{x?: number, y?: number, size: number, numbers?: boolean}} how
 */
export function paintPixels(g, palette, image, { x = 0, y = 0, size, numbers = false }) {
  const [paper, ink] = [rgb(palette.plane), rgb(palette.ink)];
  const cell = size / 8;
  const edge = (k) => Math.round(k * cell);
  g.font = `${0.5 * cell}px system-ui, sans-serif`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (let row = 0; row < 8; row++) {
    for (let column = 0; column < 8; column++) {
      const value = image?.[row]?.[column] ?? 0;
      const part = Math.max(0, Math.min(1, value / MOST));
      g.fillStyle = `rgb(${paper.map((c, k) => Math.round(c + part * (ink[k] - c))).join(" ")})`;
      g.fillRect(x + edge(column), y + edge(row), edge(column + 1) - edge(column), edge(row + 1) - edge(row));
      if (!numbers || !image) continue;
      g.fillStyle = part > 0.5 ? palette.plane : palette.ink;
      g.globalAlpha = value === 0 ? 0.25 : 0.7;
      g.fillText(String(value), x + (column + 0.5) * cell, y + (row + 0.5) * cell);
      g.globalAlpha = 1;
    }
  }
  g.strokeStyle = palette.muted;
  g.globalAlpha = 0.18;
  g.lineWidth = 1;
  g.beginPath();
  for (let k = 1; k < 8; k++) {
    g.moveTo(x + edge(k) + 0.5, y);
    g.lineTo(x + edge(k) + 0.5, y + size);
    g.moveTo(x, y + edge(k) + 0.5);
    g.lineTo(x + size, y + edge(k) + 0.5);
  }
  g.stroke();
  g.globalAlpha = 1;
}

/**
 * A canvas that keeps such an image sharp at any size of the page.
 * @param {any} ctx @param {HTMLCanvasElement} canvas @param {{numbers?: boolean}} [how]
 */
export function createPixels(ctx, canvas, { numbers = false } = {}) {
  let image = /** @type {number[][]|null} */ (null);
  function paint() {
    const size = canvas.clientWidth;
    if (!size) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.height = Math.round(size * ratio);
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    paintPixels(g, ctx.palette(), image, { size, numbers: numbers && size > 120 });
  }
  new ResizeObserver(paint).observe(canvas);
  ctx.onSettings(paint);
  return {
    canvas,
    /** @param {number[][]|null} next */
    show(next) {
      image = next;
      paint();
    },
  };
}
