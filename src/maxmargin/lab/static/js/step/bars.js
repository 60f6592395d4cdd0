/** What a step does to each point: its alpha, and its room to the margin. */

import { halo } from "../plot.js";
import { dot, ground, inside, stroke, title } from "./chart.js";

const REACH = 2.2; // largest room to the margin, in margins

/** A column for every point; `draw` gets its left edge and width. */
function columns({ g, palette, rem }, box, { run, k, points, hover }, draw) {
  const n = points.length;
  const w = box.w / Math.max(1, n);
  const chosen = new Set(run.frames[k].chosen);
  points.forEach((point, i) => {
    const x = box.x + i * w;
    if (chosen.has(i) || point === hover) {
      g.globalAlpha = point === hover ? 0.4 : 0.22;
      g.fillStyle = palette.accent;
      g.fillRect(x, box.y, Math.max(2, w), box.h);
      g.globalAlpha = 1;
    }
    draw(point, i, x + 0.12 * w, Math.max(1, 0.76 * w));
  });
  if (chosen.size > 4 || n === 0) return;
  g.font = `600 ${0.75 * rem}px system-ui, sans-serif`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  let free = box.x; // names of neighbours stand beside each other
  for (const i of [...chosen].sort((a, b) => a - b)) {
    const half = g.measureText(String(i + 1)).width / 2;
    const x = Math.max(free + half, box.x + (i + 0.5) * w);
    free = x + half + 0.25 * rem;
    halo(g, palette, String(i + 1), x, box.y + box.h + 0.5 * rem, palette.accent);
  }
}

export function alphaBars(style, area, scene) {
  const { g, palette, rem } = style;
  const { run, k, from, t } = scene;
  const box = inside(area, rem);
  title(style, area, [[run.solver === "perceptron" ? "α, the mistakes" : "α of each point", null]]);
  ground(style, box);
  const py = (alpha) => box.y + box.h * (1 - Math.min(1, alpha / (1.05 * run.scale)));
  bound(style, box, run, py);
  const [before, now] = [run.frames[from].alpha, run.frames[k].alpha];
  const old = run.frames[Math.max(0, k - 1)].alpha;
  columns(style, box, scene, (point, i, x, w) => {
    const alpha = (before[i] ?? 0) + t * ((now[i] ?? 0) - (before[i] ?? 0));
    const y = py(alpha);
    g.fillStyle = palette.classes[point.c];
    g.fillRect(x, y, w, box.y + box.h - y);
    if (run.frames[k].chosen.includes(i) && run.frames[k].chosen.length <= 4 && old[i] !== now[i]) {
      g.fillStyle = palette.ink; // where it was
      g.fillRect(x - 1, py(old[i]) - 1, w + 2, 2);
    }
  });
}

/** The dashed line alpha = C, and the number at the axis. */
function bound({ g, palette, rem }, box, run, py) {
  g.font = `${0.75 * rem}px system-ui, sans-serif`;
  g.textAlign = "right";
  g.textBaseline = "middle";
  g.fillStyle = palette.muted;
  g.fillText("0", box.x - 0.3 * rem, box.y + box.h - 0.3 * rem);
  if (!(run.C <= 1.05 * run.scale) || run.solver === "perceptron" || run.solver === "newton") return;
  g.fillText("C", box.x - 0.3 * rem, py(run.C));
  g.strokeStyle = palette.muted;
  g.setLineDash([5, 4]);
  g.beginPath();
  g.moveTo(box.x, py(run.C));
  g.lineTo(box.x + box.w, py(run.C));
  g.stroke();
  g.setLineDash([]);
}

/** All alpha over the steps of the barrier method: from inside their bounds to where they belong. */
export function paths(style, area, { run, k, points, hover }) {
  const { g, palette, rem } = style;
  const box = inside(area, rem);
  title(style, area, [["α over the steps", null]]);
  ground(style, box);
  const most = Math.max(...run.frames.map((frame) => Math.max(...frame.alpha)), 1e-300);
  const py = (alpha) => box.y + box.h * (1 - alpha / (1.05 * most));
  const px = (j) => box.x + (box.w * j) / Math.max(1, run.last);
  if (run.C <= 1.05 * most) bound(style, box, { ...run, scale: most, C: run.C }, py);
  points.forEach((point, i) => {
    g.strokeStyle = palette.classes[point.c];
    g.lineWidth = ((point === hover ? 4 : 1.6) * rem) / 15;
    for (const [end, alpha] of [[run.last, 0.1], [k, 0.85]]) {
      g.globalAlpha = alpha;
      stroke(g, run.frames.slice(0, end + 1).map((frame, j) => [px(j), py(frame.alpha[i])]));
    }
    g.globalAlpha = 1;
    g.fillStyle = palette.classes[point.c];
    dot(g, px(k), py(run.frames[k].alpha[i]), 0.18 * rem);
  });
}

/** y_i f(x_i) - 1, coloured where the point violates its condition. */
export function roomBars(style, area, scene) {
  const { g, palette, rem } = style;
  const { run, k, from, t } = scene;
  const box = inside(area, rem);
  title(style, area, [["y f(x) − 1", null], [run.solver === "perceptron" ? "a mistake" : "violated", palette.warn]]);
  ground(style, box);
  const py = (m) => box.y + (box.h / 2) * (1 - Math.max(-1, Math.min(1, m / REACH)));
  g.font = `${0.75 * rem}px system-ui, sans-serif`;
  g.textAlign = "right";
  g.textBaseline = "middle";
  for (const m of [-2, -1, 0, 1, 2]) {
    if (box.h < 6 * rem && m % 2) continue;
    g.fillStyle = palette.muted;
    g.fillText(String(m).replace("-", "−"), box.x - 0.3 * rem, py(m));
  }
  columns(style, box, scene, (_, i, x, w) => {
    const m = run.room(from, i) + t * (run.room(k, i) - run.room(from, i));
    g.fillStyle = run.broken(k, i) ? palette.warn : palette.muted;
    g.globalAlpha = run.broken(k, i) ? 1 : 0.55;
    g.fillRect(x, Math.min(py(0), py(m)), w, Math.max(1, Math.abs(py(m) - py(0))));
    g.globalAlpha = 1;
  });
  g.strokeStyle = palette.ink;
  g.lineWidth = rem / 15;
  g.beginPath();
  g.moveTo(box.x, Math.round(py(0)) + 0.5);
  g.lineTo(box.x + box.w, Math.round(py(0)) + 0.5);
  g.stroke();
}
