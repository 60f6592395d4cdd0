/** The floor of the cube with its lines, and the axes with names and numbers along the edges that the eye sees best. */

import { halo, ticks } from "../plot.js";

const OUT = 1.16; // where names stand
const NUMBER = [1.4, 0.9]; // rem, about the width and height of a number

/** @param {CanvasRenderingContext2D} g @param {(p: any) => any} project */
export function paintFloor(g, project, palette, rem, z) {
  const corners = [[-1, -1, z], [1, -1, z], [1, 1, z], [-1, 1, z]].map(project);
  g.beginPath();
  corners.forEach((p, k) => (k ? g.lineTo(p.x, p.y) : g.moveTo(p.x, p.y)));
  g.closePath();
  g.fillStyle = palette.gridline;
  g.globalAlpha = 0.45;
  g.fill();
  g.globalAlpha = 1;
  g.strokeStyle = palette.line;
  g.lineWidth = Math.max(1, rem / 15);
  for (let s = -1; s <= 1.001; s += 0.5) {
    segment(g, project([s, -1, z]), project([s, 1, z]));
    segment(g, project([-1, s, z]), project([1, s, z]));
  }
}

function segment(g, a, b) {
  g.beginPath();
  g.moveTo(a.x, a.y);
  g.lineTo(b.x, b.y);
  g.stroke();
}

/** The upright edges that stand behind everything. */
export function paintWalls(g, project, palette, rem) {
  const edges = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => [project([x, y, -1]), project([x, y, 1])]);
  edges.sort((a, b) => a[0].near - b[0].near);
  g.strokeStyle = palette.line;
  g.lineWidth = Math.max(1, rem / 15);
  for (const [a, b] of edges.slice(0, 3)) segment(g, a, b);
}

/**
 * @param {{flat: string[], lifted: string[], ranges: [number, number][], flatRanges: [number, number][],
 *          floor: number, width: number, t: number}} axes
 *        names and numbers, those of the flat plane at t = 0
 */
export function paintAxes(g, project, palette, rem, { flat, lifted, ranges, flatRanges, floor, width, t }) {
  g.font = `600 ${rem}px system-ui, sans-serif`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  const front = (axis) => {
    const other = axis === 0 ? 1 : 0;
    const at = (side, s) => {
      const p = [0, 0, floor];
      p[axis] = s;
      p[other] = side;
      return p;
    };
    const side = project(at(-1, 0)).near > project(at(1, 0)).near ? -1 : 1;
    return (s, out = 1) => at(side * out, s);
  };
  const sides = [-1, 1].flatMap((x) => [-1, 1].map((y) => [x, y]));
  sides.sort((a, b) => project([...a, 0]).x - project([...b, 0]).x);
  const [leftX, leftY] = sides[0];
  const upright = (s, out = 1) => [leftX * out, leftY * out, s];
  const written = /** @type {{axis: number, x: number, y: number}[]} */ ([]);
  [front(0), front(1), upright].forEach((edge, axis) => {
    const same = flat[axis] === lifted[axis];
    const share = same ? 1 : t;
    const words = [[lifted[axis], ranges[axis], share], ...(same ? [] : [[flat[axis], flatRanges[axis], 1 - t]])];
    for (const [name, range, alpha] of words) {
      if (!name || alpha < 0.02) continue;
      g.globalAlpha = alpha;
      const place = project(edge(0, axis === 2 ? OUT * 1.04 : OUT));
      g.font = `600 ${rem}px system-ui, sans-serif`;
      const half = g.measureText(name).width / 2 + 0.4 * rem;
      halo(g, palette, name, Math.max(half, Math.min(width - half, place.x)), place.y, palette.ink);
      g.font = `${0.78 * rem}px system-ui, sans-serif`;
      for (const value of ticks(range[0], range[1], 4)) {
        const s = (2 * (value - range[0])) / (range[1] - range[0]) - 1;
        if (Math.abs(s) < 0.12 || Math.abs(s) > 0.97) continue; // the name stands in the middle
        const at = project(edge(s, 1.07));
        const covers = ({ x, y }) => Math.abs(x - at.x) < NUMBER[0] * rem && Math.abs(y - at.y) < NUMBER[1] * rem;
        if (written.some((other) => other.axis !== axis && covers(other))) continue; // of the other axis at this corner
        written.push({ axis, x: at.x, y: at.y });
        halo(g, palette, String(Number(value.toPrecision(4))).replace("-", "−"), at.x, at.y);
      }
    }
    g.globalAlpha = 1;
  });
}
