/**
 * What the plane of a run shows: the decision function of the present frame, the boundaries of the frames before it, the
 * points with their alphas as sizes, and what the step is about.
 */

import { contour, paintShade, shade, strokeLines } from "../grid.js";
import { marker, ring } from "../markers.js";
import { axes, halo } from "../plot.js";

const SATURATED = 2; // |f| at which the shading is strongest
const NAMED = 6; // chosen points that are labelled at most
const TRAIL = 4; // earlier boundaries

/**
 * @typedef {{run: import("./run.js").Run|null, k: number, from: number, t: number,
 *            grid: import("../grid.js").Grid|null, points: import("../points.js").Point[], hover: any,
 *            support?: Set<number>|null}} Scene
 *   frame `k` after frame `from`, t of the way there; without a run, the points that are support vectors
 */

/** Layers of a plane (plot.js). @param {() => Scene} scene */
export function layersOf(scene) {
  const cache = { grid: null, image: null, theme: "", lines: /** @type {Record<string, number[]>} */ ({}) };
  const prepared = (palette) => {
    const { grid } = scene();
    if (!grid) return null;
    if (cache.grid !== grid || cache.theme !== palette.plane) {
      const { values } = grid;
      cache.grid = grid;
      cache.theme = palette.plane;
      cache.image = shade(grid, palette, (k) => Number(values[k] > 0), (k) => Math.abs(values[k]) / SATURATED);
      cache.lines = { "-1": contour(grid, -1), 1: contour(grid, 1), 0: contour(grid, 0) };
    }
    return cache;
  };
  return [
    (g, frame, palette) => {
      const found = prepared(palette);
      if (found) paintShade(g, frame, found.image, found.grid.view);
    },
    axes,
    (g, frame, palette) => trail(g, frame, palette, scene()),
    (g, frame, palette) => contours(g, frame, palette, prepared(palette)?.lines ?? {}),
    (g, frame, palette) => pair(g, frame, palette, scene()),
    (g, frame, palette) => points(g, frame, palette, scene()),
  ];
}

/** Where the boundary was before, fainter with age. */
function trail(g, frame, palette, { run, k, grid }) {
  if (!run || !grid) return;
  g.strokeStyle = palette.ink;
  g.lineWidth = frame.pen(1.5);
  for (let age = TRAIL; age >= 1; age--) {
    const before = k - age >= 0 ? run.grid(k - age, grid.view) : null;
    if (!before) continue;
    g.globalAlpha = 0.32 * (1 - (age - 1) / TRAIL);
    strokeLines(g, frame, contour(before, 0));
  }
  g.globalAlpha = 1;
}

function contours(g, frame, palette, lines) {
  g.strokeStyle = palette.ink;
  g.lineCap = "round";
  for (const [level, pieces] of Object.entries(lines)) {
    g.lineWidth = frame.pen(level === "0" ? 3 : 1.6);
    g.globalAlpha = level === "0" ? 1 : 0.75;
    strokeLines(g, frame, pieces);
  }
  g.globalAlpha = 1;
}

/** The two points of an SMO step belong together. */
function pair(g, frame, palette, { run, k, points }) {
  const chosen = run?.frames[k].chosen ?? [];
  if (run?.solver !== "smo" || chosen.length !== 2) return;
  const [a, b] = chosen.map((i) => points[i]);
  if (!a || !b) return;
  g.strokeStyle = palette.accent;
  g.lineWidth = frame.pen(2.5);
  g.setLineDash([7, 5]);
  g.beginPath();
  g.moveTo(frame.px(a.x), frame.py(a.y));
  g.lineTo(frame.px(b.x), frame.py(b.y));
  g.stroke();
  g.setLineDash([]);
}

/** Point i of n with this part of a large alpha. */
export const radius = (share, n) => (n > 120 ? 4.5 : 6.5) * (1 + 1.5 * Math.sqrt(Math.max(0, Math.min(1, share))));

function points(g, frame, palette, { run, k, from, t, points, hover, support }) {
  const unit = frame.rem / 15;
  const now = run?.frames[k];
  const before = run?.frames[from];
  const chosen = new Set(now?.chosen ?? []);
  const free = new Set(now?.free ?? []);
  const named = chosen.size <= NAMED;
  const alphas = points.map((_, i) => (now ? (before.alpha[i] ?? 0) + t * ((now.alpha[i] ?? 0) - (before.alpha[i] ?? 0)) : 0));
  const order = points.map((_, i) => i).sort((i, j) => alphas[j] - alphas[i]); // small ones on top
  for (const i of order) {
    const point = points[i];
    const alpha = alphas[i];
    const [x, y] = [frame.px(point.x), frame.py(point.y)];
    const r = unit * radius(run ? alpha / run.scale : 0, points.length);
    if (point === hover) ring(g, x, y, r + 9 * unit, { colour: palette.accent, width: 2 * unit });
    marker(g, palette, point.c, x, y, r);
    if (alpha > 0 || support?.has(i)) ring(g, x, y, r + 3.5 * unit, { colour: palette.ink, width: (free.has(i) ? 3 : 1.8) * unit });
    if (chosen.has(i)) ring(g, x, y, r + 8 * unit, { colour: palette.accent, width: (named ? 4 : 2) * unit });
  }
  if (!named) return;
  g.font = `700 ${0.95 * frame.rem}px system-ui, sans-serif`;
  g.textBaseline = "middle";
  for (const i of chosen) {
    const point = points[i];
    if (!point) continue;
    const [x, y] = [frame.px(point.x), frame.py(point.y)];
    const left = x > frame.width - 4 * frame.rem;
    g.textAlign = left ? "right" : "left";
    halo(g, palette, String(i + 1), x + (left ? -1 : 1) * 27 * unit, y - 12 * unit, palette.accent);
  }
}
