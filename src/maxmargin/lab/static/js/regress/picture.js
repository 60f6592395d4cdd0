/**
 * What Regression paints: the tube, residuals, the curve, points with rings on support vectors, and where the cursor
 * cuts the curve. Each is a layer of the plane (plot.js).
 */

import { paintPoints, ring } from "../markers.js";
import { axes, layered, upright } from "../plot.js";

const FAR = 1e4; // pixels beyond which a curve is cut off: canvases do not like larger numbers

/** @param {any} picture state of the tab: {fit, at, points(), show, hover()} */
export const layersOf = (picture) => layered([tube, guide, axes, residuals, curve, points, place], picture);

/** f at x, by the two samples around it; NaN outside of the curve and where it overflows. */
export function valueOn(curve, x) {
  if (!curve?.length) return NaN;
  const [first, last] = [curve[0][0], curve[curve.length - 1][0]];
  const u = ((x - first) / (last - first)) * (curve.length - 1);
  const k = Math.min(curve.length - 2, Math.floor(u));
  if (!(k >= 0 && u <= curve.length - 1) || curve[k][1] === null || curve[k + 1][1] === null) return NaN;
  return curve[k][1] + (u - k) * (curve[k + 1][1] - curve[k][1]);
}

const pixelY = (frame, y) => Math.max(-FAR, Math.min(FAR, frame.py(y)));

/** Pieces of a curve between values that are none. */
function trace(g, frame, rows) {
  let down = false;
  for (const [x, y] of rows) {
    if (y === null) down = false;
    else if (down) g.lineTo(frame.px(x), pixelY(frame, y));
    else {
      g.moveTo(frame.px(x), pixelY(frame, y));
      down = true;
    }
  }
}

function tube(g, frame, palette, { fit, show }) {
  if (!fit?.tube || !show.tube) return;
  const side = (values) => fit.curve.map(([x], k) => [x, values[k]]).filter(([, y]) => y !== null);
  const [upper, lower] = [side(fit.tube.upper), side(fit.tube.lower)];
  g.beginPath();
  for (const [k, [x, y]] of [...upper, ...[...lower].reverse()].entries()) {
    if (k) g.lineTo(frame.px(x), pixelY(frame, y));
    else g.moveTo(frame.px(x), pixelY(frame, y));
  }
  g.fillStyle = g.strokeStyle = palette.classes[0];
  g.globalAlpha = palette.dark ? 0.24 : 0.16;
  g.fill();
  g.globalAlpha = 0.8;
  g.lineWidth = frame.pen(1.4);
  for (const rows of [upper, lower]) {
    g.beginPath();
    trace(g, frame, rows);
    g.stroke();
  }
}

function curve(g, frame, palette, { fit }) {
  if (!fit) return;
  g.beginPath();
  trace(g, frame, fit.curve);
  g.lineJoin = g.lineCap = "round";
  g.lineWidth = frame.pen(3);
  g.strokeStyle = palette.ink;
  g.stroke();
}

/** From each point to the curve: y_i - f(x_i). With a tube only the part beyond it, which is what costs. */
function residuals(g, frame, palette, { fit, show, points }) {
  if (!fit || !show.residuals) return;
  g.strokeStyle = palette.classes[1];
  g.lineWidth = frame.pen(1.8);
  g.globalAlpha = 0.9;
  for (const point of points()) {
    const residual = fit.records.get(point.id)?.residual;
    if (residual === null || residual === undefined) continue;
    const excess = Math.sign(residual) * Math.max(0, Math.abs(residual) - fit.epsilon);
    if (excess === 0) continue;
    g.beginPath();
    g.moveTo(frame.px(point.x), frame.py(point.y));
    g.lineTo(frame.px(point.x), pixelY(frame, point.y - excess));
    g.stroke();
  }
}

function points(g, frame, palette, { fit, show, points, hover }) {
  const sizes = [[200, 4.5], [0, 6.5]];
  paintPoints(g, frame, palette, { points: points(), hover: hover(), sizes }, (point, x, y, r, unit) => {
    if (show.rings && fit?.tube && fit.records.get(point.id)?.support) ring(g, x, y, r + 4 * unit, { colour: palette.ink, width: 2 * unit });
  });
}

/** The line of the cursor; it goes on in the strip of weights below. */
function guide(g, frame, palette, { fit, at }) {
  if (!fit || at === null) return;
  upright(g, frame, palette, at);
}

/** f where the cursor is. */
function place(g, frame, palette, { fit, at }) {
  const f = at === null ? NaN : valueOn(fit?.curve, at);
  if (!Number.isFinite(f)) return;
  const unit = frame.rem / 15;
  g.beginPath();
  g.arc(frame.px(at), pixelY(frame, f), 5.5 * unit, 0, 2 * Math.PI);
  g.fillStyle = palette.accent;
  g.fill();
  g.lineWidth = 2 * unit;
  g.strokeStyle = palette.plane;
  g.stroke();
}
