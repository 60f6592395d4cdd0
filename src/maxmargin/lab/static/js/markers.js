/**
 * Points: one shape and one colour for each class, and the marks around them. On a canvas, and as small SVG pictures for
 * buttons and legends, from the same outlines.
 */

import { SHAPES } from "./theme.js";

/** Corners on the unit circle's scale; a circle has none. */
const CORNERS = {
  circle: [],
  square: [[-0.82, -0.82], [0.82, -0.82], [0.82, 0.82], [-0.82, 0.82]],
  triangle: [[0, -1.1], [1.05, 0.8], [-1.05, 0.8]],
  diamond: [[0, -1.2], [1.05, 0], [0, 1.2], [-1.05, 0]],
  wedge: [[0, 1.1], [1.05, -0.8], [-1.05, -0.8]],
  star: Array.from({ length: 10 }, (_, k) => {
    const r = k % 2 ? 0.55 : 1.3;
    const t = (Math.PI * k) / 5;
    return [r * Math.sin(t), -r * Math.cos(t)];
  }),
};

/** The outline of a class's shape. @param {CanvasRenderingContext2D} g */
export function outline(g, shape, x, y, r) {
  const corners = CORNERS[SHAPES[shape] ?? "circle"];
  g.beginPath();
  if (corners.length === 0) g.arc(x, y, r, 0, 2 * Math.PI);
  else corners.forEach(([u, v], k) => (k ? g.lineTo(x + u * r, y + v * r) : g.moveTo(x + u * r, y + v * r)));
  g.closePath();
}

/** A point of class k; hollow if it is held out. */
export function marker(g, palette, k, x, y, r, hollow = false) {
  outline(g, k, x, y, hollow ? 0.85 * r : r);
  g.lineWidth = Math.max(1.5, r / 3.5);
  g.lineJoin = "round";
  g.strokeStyle = palette.dark ? "#0b0f13" : "#ffffff";
  g.stroke();
  g.fillStyle = hollow ? palette.plane : palette.classes[k];
  g.fill();
  if (!hollow) return;
  g.strokeStyle = palette.classes[k];
  g.stroke();
}

/** A ring; `dash` for points inside the margin. */
export function ring(g, x, y, r, { colour, width = 2, dash = [] }) {
  g.beginPath();
  g.arc(x, y, r, 0, 2 * Math.PI);
  g.setLineDash(dash);
  g.lineWidth = width;
  g.strokeStyle = colour;
  g.stroke();
  g.setLineDash([]);
}

/** A cross over a point, for those on the wrong side. */
export function cross(g, x, y, r, { colour, width = 2 }) {
  g.beginPath();
  for (const s of [-1, 1]) {
    g.moveTo(x - r, y - s * r);
    g.lineTo(x + r, y + s * r);
  }
  g.lineWidth = width;
  g.strokeStyle = colour;
  g.stroke();
}

/**
 * All points that are on the canvas, the one under the pointer in a ring.
 * @param {{points: import("./points.js").Point[], hover: any, sizes: [number, number][], hollow?: Set<any>}} given sizes: [more than so many
 *        points, radius at normal text], the first that holds
 * @param {(point: any, x: number, y: number, r: number, unit: number) => void} mark is called after each
 */
export function paintPoints(g, frame, palette, { points, hover, sizes, hollow }, mark) {
  const unit = frame.rem / 15;
  const r = (sizes.find(([many]) => points.length > many)?.[1] ?? 0) * unit;
  for (const point of points) {
    const [x, y] = [frame.px(point.x), frame.py(point.y)];
    if (x < -20 || y < -20 || x > frame.width + 20 || y > frame.height + 20) continue;
    if (point === hover) ring(g, x, y, r + 8 * unit, { colour: palette.accent, width: 3 * unit });
    marker(g, palette, point.c, x, y, r, hollow?.has(point));
    mark(point, x, y, r, unit);
  }
}

const SVG = "http://www.w3.org/2000/svg";

/** A picture of 24 x 24 units: parts are [element name, attributes]. */
export function icon(...parts) {
  const root = document.createElementNS(SVG, "svg");
  root.setAttribute("viewBox", "-12 -12 24 24");
  root.setAttribute("aria-hidden", "true");
  for (const [name, attributes] of parts) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
    root.append(node);
  }
  return root;
}

/** The shape of class k as a part of such a picture, in the page's colours. */
export function shapePart(k, r = 7) {
  const corners = CORNERS[SHAPES[k]];
  if (corners.length === 0) return ["circle", { r, class: `fill-${k}` }];
  return ["polygon", { points: corners.map(([u, v]) => `${u * r},${v * r}`).join(" "), class: `fill-${k}` }];
}
