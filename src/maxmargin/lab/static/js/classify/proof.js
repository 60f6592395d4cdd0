/**
 * The proof that there is no hard margin: one point in the convex hulls of both classes. If a model had w'x + b >= 1 on
 * one class and <= -1 on the other, it would have both at that point. In the feature space of a kernel the hulls cannot
 * be drawn; then only the points that are mixed are marked.
 */

import { cross, ring } from "../markers.js";
import { halo } from "../plot.js";

/** The hulls of both classes, dashed the points whose mixtures meet; larger rings have larger weights. */
export function hulls(g, frame, palette, { fit, points }) {
  const found = fit?.answer.kind === "inseparable" ? fit.answer.proof : null;
  if (!found) return;
  const unit = frame.rem / 15;
  const colour = (k) => (k === null || k === undefined ? palette.muted : palette.classes[k]);
  const pixels = (list) => list.map(([x, y]) => [frame.px(x), frame.py(y)]);
  if (found.meet) {
    const [a, b] = found.classes;
    const members = (k, other) => points().filter((p) => (k === null ? p.c !== other : p.c === k)).map((p) => [p.x, p.y]);
    for (const [k, other] of [[a, b], [b, a]]) {
      polygon(g, pixels(hull(members(k, other))));
      g.fillStyle = g.strokeStyle = colour(k);
      g.globalAlpha = 0.16;
      g.fill();
      g.globalAlpha = 0.9;
      g.lineWidth = frame.pen(2);
      g.stroke();
    }
  }
  g.globalAlpha = 1;
  for (const [terms, k] of [[found.a, found.classes?.[0]], [found.b, found.classes?.[1]]]) {
    polygon(g, pixels(hull(terms)));
    g.strokeStyle = colour(k);
    g.lineWidth = frame.pen(3);
    g.setLineDash([7 * unit, 4 * unit]);
    g.stroke();
    g.setLineDash([]);
    for (const [x, y, weight] of terms) ring(g, frame.px(x), frame.py(y), (9 + 8 * Math.sqrt(weight)) * unit, { colour: colour(k), width: 2.5 * unit });
  }
}

/** The point that both hulls share, on top of everything. */
export function meeting(g, frame, palette, { fit }) {
  const meet = fit?.answer.kind === "inseparable" && fit.answer.proof?.meet;
  if (!meet) return;
  const unit = frame.rem / 15;
  const [x, y] = [frame.px(meet[0]), frame.py(meet[1])];
  g.lineCap = "round";
  for (const [colour, width] of [[palette.plane, 8], [palette.ink, 3.5]]) cross(g, x, y, 9 * unit, { colour, width: width * unit });
  g.font = `600 ${frame.rem}px system-ui, sans-serif`;
  g.textBaseline = "bottom";
  g.textAlign = x > frame.width / 2 ? "right" : "left";
  halo(g, palette, "in both hulls", x + (x > frame.width / 2 ? -16 : 16) * unit, y - 10 * unit, palette.ink);
}

function polygon(g, corners) {
  g.beginPath();
  corners.forEach(([x, y], k) => (k ? g.lineTo(x, y) : g.moveTo(x, y)));
  g.closePath();
}

/** The convex hull, counter-clockwise (Andrew 1979: the lower and the upper chain of the sorted points). */
export function hull(list) {
  const sorted = [...list].sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  if (sorted.length < 3) return sorted;
  const left = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]) > 0;
  const chain = (from) => {
    const kept = [];
    for (const p of from) {
      while (kept.length > 1 && !left(kept.at(-2), kept.at(-1), p)) kept.pop();
      kept.push(p);
    }
    return kept.slice(0, -1);
  };
  return [...chain(sorted), ...chain(sorted.reverse())];
}
