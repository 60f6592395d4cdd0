/**
 * Classify: points of two to six classes, a machine that is fitted while they move, and what it says about itself.
 *
 * model ─ panel (controls) and editor (points) change it ─ request.js asks the server ─ picture.js paints the answer.
 */

import { floats } from "../api.js";
import { prepared } from "../classify/answer.js";
import { savedPicture } from "../classify/export.js";
import { createComment, createHints, createLegend, createReadout, createShows } from "../classify/notes.js";
import { createPanel } from "../classify/panel.js";
import { layersOf } from "../classify/picture.js";
import { SMALL, createFitter } from "../classify/request.js";
import { CLASSES, HOME, MOST, SHOWN, boxAround, boxOf, kernelRequest, machineOf, pointOf, pointsOf, randomPoints } from "../classify/state.js";
import { askForTable } from "../dialogs.js";
import { el, short } from "../dom.js";
import { valueAt } from "../grid.js";
import { Plane } from "../plot.js";
import { PointEditor } from "../points.js";

const COARSE = 80; // nodes a side of the grid while something moves
const FINE = 160; // and at rest
const REST = 120; // milliseconds until a change of the view counts as finished

const model = {
  points: /** @type {import("../points.js").Point[]} */ ([]),
  kernel: /** @type {any} */ ({ name: "linear" }),
  C: 10,
  solver: "auto",
  multiclass: "ovo",
  brush: 0,
  tool: /** @type {"add"|"erase"} */ ("add"),
  show: Object.fromEntries(SHOWN.map((key) => [key, true])),
};

let ctx, plane, editor, panel, fitter, options;
let readout, legend, comment, hints, shows;
let fit = /** @type {any} */ (null); // the last answer, ready to paint
let pending = /** @type {any} */ (null); // a state given before the options were there
let viewTimer = 0;
let asked = ""; // view and grid of the last request

function mount(root, context) {
  ctx = context;
  const canvas = el("canvas", { role: "application", "aria-label": "Plane of points. Arrow keys move the cursor, Enter adds a point, Space takes one, Delete erases, n and p go from point to point." });
  readout = createReadout();
  legend = createLegend();
  comment = createComment(() => {
    fitter.cancel();
    comment.alarm("The fit was cancelled: the picture is of the points before. Any change begins another one.");
  });
  hints = createHints();
  plane = new Plane(canvas, { ctx, box: { ...HOME }, onView: viewChanged });
  editor = new PointEditor(plane, {
    points: () => model.points,
    tool: () => model.tool,
    add,
    erase: (point) => model.points.splice(model.points.indexOf(point), 1),
    changed,
    hovered,
    say: ctx.announce,
  });
  const picture = { get fit() { return fit; }, show: model.show, points: () => model.points, hover: () => editor.hover };
  plane.layers = [...layersOf(picture), (g, frame, palette) => g.canvas === canvas && editor.paintCursor(g, frame, palette)];
  fitter = createFitter(ctx, { answered, failed, progress: (p) => comment.progress(p) });

  shows = createShows(model.show, () => {
    plane.redraw();
    ctx.commit("Show or hide");
  });
  const zoom = (text, label, run) => el("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick: run }, text);
  const corner = el("div", { class: "corner" }, zoom("+", "Nearer", () => plane.zoom(1.25)), zoom("−", "Farther", () => plane.zoom(0.8)), zoom("⤢", "Show all points", showAll), shows.root);
  const side = el("aside", { class: "side", "aria-label": "Controls" });
  const stage = el("div", { class: "stage" }, el("div", { class: "plot" }, canvas, corner, ...hints.roots), readout.root, legend.root);
  root.append(el("div", { class: "workspace" }, stage, side));
  readout.show(null, {});
  load(side);
  document.addEventListener("server-back", () => (options ? changed("", false) : load(side)));
}

/** What can be chosen comes from the server; the panel is built once it is there. */
async function load(side) {
  try {
    const [offered, presets] = await Promise.all([ctx.api("/api/options"), ctx.api("/api/presets")]);
    options = offered;
    panel = createPanel({ model, options, presets, on: { changed, preset: usePreset, random, paste: () => askForTable(paste), clear, brush: chooseBrush } });
    side.replaceChildren(...panel.root, comment.root);
    setState(pending ?? {});
    ctx.commit("");
  } catch (error) {
    comment.alarm(error.message);
    side.replaceChildren(comment.root);
  }
}

// ---- changes --------------------------------------------------------------------------------------------------------

/** After every change: asks for a fit, and at the end of the gesture records a step of undo. */
function changed(label, live) {
  panel?.several(new Set(model.points.map((p) => p.c)).size > 2);
  if (!live || model.points.length <= SMALL) request(live ? COARSE : FINE);
  hints.show(model.points, model.brush);
  plane.redraw();
  if (live) ctx.touch();
  else if (label) {
    if (/point/.test(label)) leaveExample();
    ctx.commit(label);
  }
}

function add(x, y) {
  if (model.points.length >= MOST) {
    ctx.toast(`${MOST.toLocaleString("en")} points are the most that this page takes.`);
    return null;
  }
  const point = pointOf(x, y, model.brush);
  model.points.push(point);
  return point;
}

function usePreset(preset) {
  setPoints(pointsOf(preset.points), boxOf(preset.view));
  Object.assign(model, machineOf({ ...model, ...preset }, options));
  panel.refresh();
  panel.example = preset.id;
  changed("", false);
  ctx.commit(`Example: ${preset.title}`, { landmark: true });
  comment.note(preset.sentence);
  ctx.announce(preset.sentence);
}

function setPoints(points, box) {
  model.points = points;
  plane.setBox(box);
  if (editor.hover) editor.point(null);
}

/** The points are no longer those of the example. */
function leaveExample() {
  panel.unset();
  comment.note("");
}

function random() {
  const classes = Math.max(2, ...model.points.map((p) => p.c + 1));
  replace(randomPoints(classes, plane.box), plane.box, "Random points");
}

async function paste(text) {
  const { points, sentence } = await ctx.api("/api/paste", { text }, { channel: "paste" });
  const found = pointsOf(points);
  replace(found, boxAround(found), "Paste points");
  ctx.toast(sentence);
}

function clear() {
  replace([], plane.box, "Clear");
  ctx.announce("All points erased");
}

/** Other points in the place of all. */
function replace(points, box, label) {
  setPoints(points, box);
  leaveExample();
  changed("", false);
  ctx.commit(label, { landmark: true });
}

/** What a press on the plane does: adds a point of a class, or erases. */
function chooseBrush(brush) {
  model.tool = brush === "erase" ? "erase" : "add";
  if (brush !== "erase") model.brush = brush;
  panel?.refresh();
  hints.show(model.points, model.brush);
  ctx.announce(brush === "erase" ? "Erase points" : `Class ${brush + 1}`);
}

function showAll() {
  plane.setBox(boxAround(model.points));
}

function viewChanged() {
  clearTimeout(viewTimer);
  viewTimer = setTimeout(() => {
    if (!ctx.active()) return;
    if (asked !== JSON.stringify([plane.frame.view, FINE])) request(FINE);
    ctx.commit("Change the view"); // nothing to undo where only the window has another size
  }, REST);
}

// ---- the fit --------------------------------------------------------------------------------------------------------

function request(nodes) {
  if (!options) return;
  const { view } = plane.frame;
  asked = JSON.stringify([view, nodes]);
  fitter.ask({ ...machine(), points: rows(), view, grid: [nodes, nodes] }, { ids: model.points.map((p) => p.id), view, nodes });
}

const rows = () => model.points.map(({ x, y, c }) => [x, y, c]);

function machine() {
  const { C, solver, multiclass } = model;
  return { kernel: options ? kernelRequest(model.kernel, options) : model.kernel, C: C === Infinity ? "inf" : C, solver, multiclass };
}

function answered(answer, _, { ids, view, nodes }) {
  panel.error(null);
  if (answer.kind === "empty") {
    fit = null;
    comment.show({ lines: [answer.sentence] });
  } else {
    const cut = (text) => {
      const all = floats(text);
      return Array.from({ length: all.length / nodes ** 2 }, (_, k) => all.subarray(k * nodes ** 2, (k + 1) * nodes ** 2));
    };
    fit = prepared(answer, { view, nx: nodes, ny: nodes, planes: cut(answer.values), pairs: cut(answer.pairs ?? ""), ids });
    const impossible = answer.kind === "inseparable";
    const flat = answer.margin === null ? ["w = 0: f is the same everywhere, and so is the answer. Try another kernel."] : [];
    comment.show({
      lines: impossible ? [`The faint colours are the machine at C = ${answer.soft_C}:`, ...answer.comment] : [...flat, ...answer.comment],
      certificate: impossible ? "" : answer.certificate,
      alarm: answer.proof?.sentence ?? "",
    });
  }
  const counts = legend.show(answer.kind === "inseparable" ? [] : (fit?.records.values() ?? []));
  if (nodes === FINE && fit) {
    ctx.announce(answer.proof?.sentence ?? `${answer.n_support} support vectors, margin ${short(answer.margin ?? Infinity, 3)}, ${counts.misclassified} on the wrong side`);
  }
  hovered(lastHover);
  plane.redraw();
}

function failed(error) {
  if (error.status === 0) return; // the banner tells it
  if (!panel.error(error.field, error.message)) comment.alarm(error.message);
  else comment.alarm("");
  ctx.announce(error.message);
}

// ---- words ----------------------------------------------------------------------------------------------------------

let lastHover = /** @type {any} */ (null);

function hovered(at) {
  lastHover = at;
  const record = at?.point ? fit?.records.get(at.point.id) : null;
  let f = NaN;
  let label = null;
  if (at && fit) {
    const values = fit.planes.map((values) => valueAt({ view: fit.view, nx: fit.nx, ny: fit.ny, values }, at.x, at.y));
    f = values.length === 1 ? values[0] : Math.max(...values);
    if (Number.isFinite(f)) label = fit.answer.classes[values.length === 1 ? Number(f > 0) : values.indexOf(f)];
  }
  readout.show(at, { point: at?.point, record, f, label });
  if (editor?.cursor) ctx.announce(readout.text);
}

// ---- the tab --------------------------------------------------------------------------------------------------------

function getState() {
  if (!options) return pending ?? {};
  const { x0, x1, y0, y1 } = plane.box;
  const five = (v) => Number(v.toPrecision(5));
  const hidden = SHOWN.filter((key) => !model.show[key]);
  return { points: rows(), ...machine(), view: { x0: five(x0), x1: five(x1), y0: five(y0), y1: five(y1) }, hidden };
}

function setState(state) {
  pending = state;
  if (!options) return;
  Object.assign(model, machineOf(state, options));
  for (const key of SHOWN) model.show[key] = !(Array.isArray(state.hidden) && state.hidden.includes(key));
  setPoints(pointsOf(state.points), boxOf(state.view));
  panel.refresh();
  shows.refresh();
  leaveExample();
  changed("", false);
}

export const tab = {
  id: "classify",
  title: "Classify",
  mount,
  show: () => plane.fit(),
  hide: () => {},
  getState,
  setState,
  paste: (text) => paste(text).catch((error) => ctx.toast(error.message)),
  picture: () => savedPicture({ plane, ctx, model, fit }),
  shortcuts: [
    { key: "1–6", label: "New points are of this class" },
    ...Array.from({ length: CLASSES }, (_, k) => ({ key: String(k + 1), run: () => chooseBrush(k) })),
    { key: "e", label: "Erase points, until a class is chosen", run: () => chooseBrush("erase") },
    { key: "r", label: "Random points", run: random },
    { key: "+", label: "Nearer", run: () => plane.zoom(1.25) },
    { key: "-", label: "Farther", run: () => plane.zoom(0.8) },
    { key: "0", label: "Show all points", run: showAll },
    { key: "←↑→↓", label: "In the plane: move the cursor (with Shift: farther)" },
    { key: "Enter", label: "In the plane: add a point" },
    { key: "Space", label: "In the plane: take the point under the cursor, or drop it" },
    { key: "Delete", label: "In the plane: erase the point under the cursor" },
    { key: "n, p", label: "In the plane: next and previous point" },
  ],
};
