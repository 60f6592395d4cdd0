/**
 * The painter's algorithm: everything is broken into small pieces, and these are painted from the farthest to the
 * nearest. What is far fades toward the ground.
 */

import { outline, ring } from "../markers.js";
import { halo } from "../plot.js";
import { rgb } from "../theme.js";
import { paintAxes, paintFloor, paintWalls } from "./axes.js";
import { inWidth } from "./maps.js";
import { inCube, middle, mix } from "./polygons.js";

const SATURATED = 2; // |f| at which the colour of a side is strongest
const LIFT = 0.035; // what lies on a surface is painted a little before it

/** @typedef {{near: number, draw: () => void}} Piece */

/**
 * @param {CanvasRenderingContext2D} g
 * @param {import("./camera.js").Camera} camera
 * @param {{scene: import("./scene.js").Scene|null, t: number, show: Record<string, boolean>, hover: any}} given
 * @param {any} palette @param {{rem: number, width: "sigma"|"gamma"}} settings
 */
export function paintSpace(g, camera, { scene, t, show, hover }, palette, { rem, width }) {
  g.fillStyle = palette.plane;
  g.fillRect(0, 0, camera.width, camera.height);
  const project = camera.look();
  paintFloor(g, project, palette, rem, scene?.floor ?? -1);
  if (scene?.floor !== 0) paintWalls(g, project, palette, rem);
  if (!scene) return;
  const style = { g, project, palette, rem, t, unit: rem / 15 };
  const { x0, x1, y0, y1 } = scene.view;
  const lifted = scene.answer.axes.map((name) => inWidth(name.replace(/^\((.*)\)$/, "$1"), width));
  const flat = scene.upright ? lifted : ["x", "y", ""];
  const flatRanges = scene.upright ? scene.ranges : [[x0, x1], [y0, y1], [0, 1]];
  paintAxes(g, project, palette, rem, { flat, lifted, ranges: scene.ranges, flatRanges, floor: scene.floor, width: camera.width, t });
  const places = scene.points.map(({ flat: a, lifted: b }) => mix(a, b, t));
  if (show.stems && scene.map !== "polar") shadows(style, scene, places);
  const pieces = /** @type {Piece[]} */ ([]);
  if (show.sheet) sheet(style, scene, pieces);
  for (const level of [-1, 0, 1]) {
    if (level === 0 ? show.plane : show.margins) plane(style, scene, level, pieces);
    if (level === 0 || show.margins) curve(style, scene, level, pieces);
  }
  points(style, scene, places, { stems: show.stems, hover }, pieces);
  pieces.sort((a, b) => a.near - b.near);
  for (const piece of pieces) piece.draw();
  if (show.plane || show.margins) names(style, scene, show, camera.width);
}

function trace(g, places) {
  g.beginPath();
  places.forEach((p, k) => (k ? g.lineTo(p.x, p.y) : g.moveTo(p.x, p.y)));
  g.closePath();
}

/** The net, in the colour of the side that f is on, and its lines. */
function sheet({ g, project, palette, t, unit }, scene, pieces) {
  const nodes = scene.sheet.nodes.map(({ flat, lifted }) => mix(flat, lifted, t));
  for (const { corners, f } of scene.sheet.cells) {
    const kept = inCube(corners.map((k) => nodes[k]), 1.001);
    if (kept.length < 3) continue;
    const strength = Math.min(1, Math.abs(f) / SATURATED);
    pieces.push({
      near: project(middle(kept)).near,
      draw() {
        trace(g, kept.map(project));
        g.fillStyle = palette.classes[Number(f > 0)];
        g.globalAlpha = 0.07 + (palette.dark ? 0.3 : 0.24) * strength;
        g.fill();
        g.globalAlpha = palette.dark ? 0.3 : 0.22;
        g.strokeStyle = palette.muted;
        g.lineWidth = 0.8 * unit;
        g.stroke();
        g.globalAlpha = 1;
      },
    });
  }
}

/** The separating plane, or a margin plane in the colour of its class; they come with the lifting. */
function plane({ g, project, palette, t, unit }, scene, level, pieces) {
  const strength = appearance(t);
  if (strength === 0) return;
  const colour = colourOf(palette, level);
  for (const piece of scene.planes[level]) {
    pieces.push({
      near: project(middle(piece)).near,
      draw() {
        trace(g, piece.map(project));
        g.fillStyle = colour;
        g.globalAlpha = strength * (level === 0 ? (palette.dark ? 0.2 : 0.28) : 0.13);
        g.fill();
        g.globalAlpha = 1;
      },
    });
  }
  const edges = scene.outlines[level].map((p, k, all) => [p, all[(k + 1) % all.length]]);
  const ends = scene.lineOf(level);
  if (ends.length === 2) edges.push(ends);
  for (const [p, q] of edges) {
    pieces.push({
      near: project(mix(p, q, 0.5)).near + LIFT,
      draw() {
        g.globalAlpha = strength * 0.8;
        line(g, project(p), project(q), colour, (level === 0 ? 2 : 1.4) * unit);
        g.globalAlpha = 1;
      },
    });
  }
}

/** How much is to be seen of the planes at t: they come late, when the points are nearly where the planes mean something. */
const appearance = (t) => Math.max(0, (t - 0.55) / 0.45);

const colourOf = (palette, level) => (level === 0 ? palette.ink : palette.classes[level > 0 ? 1 : 0]);

/** "f = 0" and its margins at the corners of the planes that are farthest right, none over another. */
function names({ g, project, palette, rem, t }, scene, show, width) {
  g.globalAlpha = appearance(t);
  g.font = `600 ${0.85 * rem}px system-ui, sans-serif`;
  g.textAlign = "left";
  g.textBaseline = "middle";
  const found = [1, 0, -1]
    .filter((level) => (level === 0 ? show.plane : show.margins) && scene.outlines[level].length)
    .map((level) => ({ level, ...scene.outlines[level].map(project).reduce((a, b) => (b.x > a.x ? b : a)) }))
    .sort((a, b) => a.y - b.y);
  let last = -Infinity;
  for (const { level, x, y } of found) {
    const text = level === 0 ? "f = 0" : level > 0 ? "+1" : "−1";
    last = Math.max(y, last + 1.05 * rem);
    halo(g, palette, text, Math.min(x + 0.4 * rem, width - g.measureText(text).width - 0.3 * rem), last, colourOf(palette, level));
  }
  g.globalAlpha = 1;
}

function line(g, a, b, colour, width) {
  g.beginPath();
  g.moveTo(a.x, a.y);
  g.lineTo(b.x, b.y);
  g.strokeStyle = colour;
  g.lineWidth = width;
  g.lineCap = "round";
  g.stroke();
}

/** Where f = level on the net. */
function curve({ g, project, palette, t, unit }, scene, level, pieces) {
  for (const [a, b] of scene.curves[level]) {
    const [p, q] = [mix(a.flat, a.lifted, t), mix(b.flat, b.lifted, t)];
    if ([...p, ...q].some((value) => Math.abs(value) > 1.01)) continue;
    const [from, to] = [project(p), project(q)];
    pieces.push({
      near: (from.near + to.near) / 2 + LIFT,
      draw: () => line(g, from, to, palette.ink, (level === 0 ? 3.4 : 1.2) * unit),
    });
  }
}

/** A soft spot on the floor below every point. */
function shadows({ g, project, palette, unit }, scene, places) {
  g.fillStyle = palette.dark ? "#000000" : palette.ink;
  for (const [x, y] of places) {
    const p = project([x, y, scene.floor]);
    g.globalAlpha = palette.dark ? 0.5 : 0.16;
    g.beginPath();
    g.ellipse(p.x, p.y, 6.5 * unit * p.scale, 3.2 * unit * p.scale, 0, 0, 2 * Math.PI);
    g.fill();
  }
  g.globalAlpha = 1;
}

function points(style, scene, places, { stems, hover }, pieces) {
  const { g, project, palette, unit } = style;
  const small = places.length > 300 ? 0.6 : places.length > 120 ? 0.8 : 1;
  places.forEach((place, i) => {
    const { point } = scene.points[i];
    const at = project(place);
    const r = 6.8 * unit * small * at.scale ** 1.5;
    const fade = Math.max(0, Math.min(0.45, 0.22 - 0.2 * at.near));
    pieces.push({ near: at.near + 2 * LIFT, draw: () => ball(style, point.c, at, r, fade, { support: scene.support.has(i), hover: point === hover }) });
    if (!stems || scene.floor === 0 || place[2] < -0.97) return;
    const foot = project([place[0], place[1], -1]);
    pieces.push({
      near: (at.near + foot.near) / 2,
      draw() {
        g.globalAlpha = 0.45 * (1 - fade);
        line(g, at, foot, palette.classes[point.c], 1.3 * unit);
        g.globalAlpha = 1;
      },
    });
  });
}

/** A point of a class as a shaded body. */
function ball({ g, palette, unit }, c, { x, y }, r, fade, { support, hover }) {
  const colour = blend(palette.classes[c], palette.plane, fade);
  const light = g.createRadialGradient(x - 0.35 * r, y - 0.4 * r, 0.1 * r, x, y, 1.25 * r);
  light.addColorStop(0, blend(colour, "#ffffff", 0.6));
  light.addColorStop(0.5, colour);
  light.addColorStop(1, blend(colour, "#000000", 0.35));
  outline(g, c, x, y, r);
  g.fillStyle = light;
  g.fill();
  g.lineWidth = unit;
  g.strokeStyle = palette.plane;
  g.stroke();
  if (support) ring(g, x, y, r + 4 * unit, { colour: blend(palette.ink, palette.plane, fade), width: 2 * unit });
  if (hover) ring(g, x, y, r + 8 * unit, { colour: palette.accent, width: 3 * unit });
}

/** A colour between two, as "#rrggbb". */
export function blend(from, to, share) {
  const [a, b] = [rgb(from), rgb(to)];
  return `#${a.map((value, k) => Math.round(value + share * (b[k] - value)).toString(16).padStart(2, "0")).join("")}`;
}
