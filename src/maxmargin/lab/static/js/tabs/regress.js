/**
 * Regression: points (x, y), a curve that is fitted while they move, and what each prediction is made of.
 *
 * model ─ panel (controls) and editor (points) change it ─ /api/regress answers with the curve, /api/blend with the
 * weights at the cursor ─ picture.js and strip.js paint them.
 */

import { createComment } from "../classify/notes.js";
import { el, setText, short } from "../dom.js";
import { Plane } from "../plot.js";
import { PointEditor } from "../points.js";
import { savedPicture } from "../regress/export.js";
import { createLatest } from "../regress/latest.js";
import { coefficientNames, createHint, createLegend, createNumbers, createReadout, createShows, lettered } from "../regress/notes.js";
import { createPanel } from "../regress/panel.js";
import { layersOf, valueOn } from "../regress/picture.js";
import { HOME, MOST, SHOWN, boxAround, boxOf, pointOf, pointsOf, settingsOf, settingsRequest } from "../regress/state.js";
import { createStrip } from "../regress/strip.js";

const COARSE = 200; // samples of the curve while something moves
const FINE = 400; // and at rest
const REST = 120; // milliseconds until a change of the view counts as finished

const model = {
  points: /** @type {import("../points.js").Point[]} */ ([]),
  tool: /** @type {"add"|"erase"} */ ("add"),
  show: Object.fromEntries(SHOWN.map((key) => [key, true])),
  ...settingsOf({}),
};

let ctx, plane, editor, panel, strip, curves, blends;
let readout, legend, comment, numbers, hint, shows, sentence;
let fit = /** @type {any} */ (null); // the last answer, ready to paint
let at = /** @type {number|null} */ (null); // x of the cursor; it stays where the pointer left the plane
let under = /** @type {any} */ (null); // the point at the cursor
let exact = /** @type {{at: number, value: number}|null} */ (null); // f at the cursor; the curve only has samples of it
let fresh = true; // the curve is another one than that of the last weights
let viewTimer = 0;
let asked = ""; // view and samples of the last request

function mount(root, context) {
  ctx = context;
  const canvas = el("canvas", { role: "application", "aria-label": "Plane of points x, y. Arrow keys move the cursor, Enter adds a point, Space takes one, Delete erases, n and p go from point to point." });
  readout = createReadout();
  legend = createLegend();
  comment = createComment(() => {
    curves.drop();
    comment.alarm("The fit was cancelled: the curve is of the points before. Any change begins another one.");
  });
  numbers = createNumbers();
  hint = createHint();
  sentence = el("p", { class: "sentence" });
  plane = new Plane(canvas, { ctx, box: { ...HOME }, equal: false, onView: viewChanged });
  editor = new PointEditor(plane, {
    points: () => model.points,
    tool: () => model.tool,
    add,
    erase: (point) => model.points.splice(model.points.indexOf(point), 1),
    changed,
    hovered,
    say: ctx.announce,
  });
  const picture = { get fit() { return fit; }, get at() { return at; }, show: model.show, points: () => model.points, hover: () => editor.hover };
  plane.layers = [...layersOf(picture), (g, frame, palette) => g.canvas === canvas && editor.paintCursor(g, frame, palette)];
  strip = createStrip({ ctx, plane, points: () => model.points, at: () => at, move: (x) => moveTo(x, null) });
  curves = createLatest(ctx, "/api/regress", { answered, failed, busy: (on) => comment.progress(on ? { iteration: 0 } : null) });
  blends = createLatest(ctx, "/api/blend", { answered: blended, failed: () => blended(null, {}) });
  shows = createShows(model.show, () => {
    showStrip();
    plane.redraw();
    ctx.commit("Show or hide");
  });
  panel = createPanel({ model, on: { changed, example, clear, tool } });

  const zoom = (text, label, run) => el("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick: run }, text);
  const corner = el("div", { class: "corner" }, zoom("+", "Nearer", () => plane.zoom(1.25)), zoom("−", "Farther", () => plane.zoom(0.8)), zoom("⤢", "Show all points", showAll), shows.root);
  const stage = el("div", { class: "stage regress" }, el("div", { class: "plot" }, canvas, corner, ...hint.roots), strip.root, readout.root, sentence, legend.root);
  comment.root.append(numbers.root);
  root.append(el("div", { class: "workspace" }, stage, el("aside", { class: "side", "aria-label": "Controls" }, ...panel.root, comment.root)));
  document.addEventListener("server-back", () => changed("", false));
}

// ---- changes --------------------------------------------------------------------------------------------------------

/** After every change: asks for a curve, and at the end of the gesture records a step of undo. */
function changed(label, live) {
  request(live ? COARSE : FINE);
  hint.show(model.points, model.model);
  plane.redraw();
  if (live) ctx.touch();
  else if (label) {
    if (/point/.test(label)) leaveExample();
    ctx.commit(label);
  }
}

function add(x, y) {
  if (model.points.length >= MOST) {
    ctx.toast(`${MOST.toLocaleString("en")} points are the most that this tab takes.`);
    return null;
  }
  const point = pointOf(x, y);
  model.points.push(point);
  return point;
}

function example({ id, title, points, settings, sentence: words }) {
  Object.assign(model, settingsOf({ ...settingsRequest(model), ...settings }));
  panel.refresh();
  replace(pointsOf(points), { ...HOME }, `Example: ${title}`);
  panel.example = id;
  comment.note(words);
  ctx.announce(words);
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

function setPoints(points, box) {
  model.points = points;
  plane.setBox(box);
  if (editor.hover) editor.point(null);
}

/** The points are no longer those of the example. */
function leaveExample() {
  panel.example = "";
  comment.note("");
}

function tool(value) {
  model.tool = value;
  panel.refresh();
  ctx.announce(value === "erase" ? "Erase points" : "Add points");
}

async function paste(text) {
  const { points, sentence: words } = await ctx.api("/api/paste", { text }, { channel: "paste" });
  const found = pointsOf(points);
  replace(found, boxAround(found), "Paste points");
  ctx.toast(words);
}

function showAll() {
  plane.setBox(boxAround(model.points));
}

function viewChanged() {
  strip.fit();
  clearTimeout(viewTimer);
  viewTimer = setTimeout(() => {
    if (!ctx.active()) return;
    if (asked !== JSON.stringify([plane.frame.view, FINE])) request(FINE);
    ctx.commit("Change the view"); // nothing to undo where only the window has another size
  }, REST);
}

// ---- the curve ------------------------------------------------------------------------------------------------------

const rows = () => model.points.map(({ x, y }) => [x, y]);

/** What the server is asked for, and what the script is written from. */
const question = (samples = FINE) => ({ ...settingsRequest(model), points: rows(), view: plane.frame.view, samples });

function request(samples) {
  asked = JSON.stringify([plane.frame.view, samples]);
  if (model.points.length <= Number(model.model === "svr")) {
    curves.drop();
    forget();
    comment.show({ lines: [] });
    return;
  }
  const settings = settingsRequest(model);
  const names = coefficientNames(model, model.points);
  curves.ask(question(samples), { ids: model.points.map((p) => p.id), settings, names, samples });
}

function answered(answer, { ids, settings, names, samples }) {
  panel.error(null);
  const support = new Set(answer.tube ? answer.support : []);
  const own = settings.model === "kernel_ridge" ? "cᵢ" : settings.model === "svr" ? "aᵢ" : ""; // one coefficient a point
  const record = (k) => ({ residual: answer.residuals[k], support: support.has(k), name: own, coefficient: own ? answer.coefficients[k] : undefined });
  fit = { answer, curve: answer.curve, tube: answer.tube, epsilon: settings.epsilon ?? 0, records: new Map(ids.map((id, k) => [id, record(k)])) };
  comment.show({ lines: answer.comment.map(lettered) });
  legend.show(fit);
  numbers.show(fit, names);
  if (samples === FINE) ctx.announce(`Training error ${short(answer.rmse)}${answer.tube ? `, ${support.size} support vectors` : ""}`);
  fresh = true;
  exact = null;
  tell();
  askBlend();
  plane.redraw();
}

function failed(error) {
  if (error.status === 0) return; // the banner tells it
  forget();
  comment.show({ lines: [], alarm: panel.error(error.field, error.message) ? "" : error.message });
  ctx.announce(error.message);
}

/** There is no curve. */
function forget() {
  fit = null;
  blends.drop();
  strip.show(null, [], true);
  setText(sentence, "");
  legend.show(null);
  numbers.show(null, []);
  tell();
  plane.redraw();
}

// ---- the cursor -----------------------------------------------------------------------------------------------------

function hovered(place) {
  if (place) moveTo(place.point ? place.point.x : place.x, place.point);
  else under = null;
  tell();
  if (editor?.cursor) ctx.announce(readout.text);
}

function moveTo(x, point) {
  under = point;
  if (x !== at) {
    at = x;
    askBlend();
  }
  tell();
  plane.redraw();
}

function tell() {
  const f = exact?.at === at ? exact.value : valueOn(fit?.curve, at);
  readout.show(fit ? at : null, f, { point: under, record: under && fit?.records.get(under.id) });
  strip.moved();
}

function askBlend() {
  const { x0, x1 } = plane.frame.view;
  at ??= Number((x0 + 0.4 * (x1 - x0)).toPrecision(3));
  if (fit && model.show.weights) blends.ask({ ...question(), at }, { ids: model.points.map((p) => p.id) });
}

function blended(answer, { ids }) {
  if (!fit) return;
  strip.show(answer, ids, fresh);
  fresh = false;
  exact = answer;
  tell();
  setText(sentence, lettered(answer?.sentence ?? ""));
}

function showStrip() {
  strip.root.hidden = sentence.hidden = !model.show.weights;
  strip.root.parentElement.classList.toggle("alone", !model.show.weights);
  if (model.show.weights) askBlend();
}

// ---- the tab --------------------------------------------------------------------------------------------------------

function getState() {
  const five = (v) => Number(v.toPrecision(5));
  const { x0, x1, y0, y1 } = plane.box;
  const hidden = SHOWN.filter((key) => !model.show[key]);
  return { ...settingsRequest(model), points: rows(), view: { x0: five(x0), x1: five(x1), y0: five(y0), y1: five(y1) }, hidden };
}

function setState(state) {
  Object.assign(model, settingsOf(state));
  for (const key of SHOWN) model.show[key] = !(Array.isArray(state.hidden) && state.hidden.includes(key));
  setPoints(pointsOf(state.points), boxOf(state.view));
  panel.refresh();
  shows.refresh();
  showStrip();
  leaveExample();
  changed("", false);
}

export const tab = {
  id: "regress",
  title: "Regression",
  mount,
  show: () => plane.fit(),
  hide: () => {},
  getState,
  setState,
  scriptState: () => question(),
  paste: (text) => paste(text).catch((error) => ctx.toast(error.message)),
  picture: () => savedPicture({ plane, strip: strip.plane, ctx, settings: settingsRequest(model), fit, show: model.show }),
  shortcuts: [
    { key: "a", label: "Add points, or move them", run: () => tool("add") },
    { key: "e", label: "Erase points", run: () => tool("erase") },
    { key: "+", label: "Nearer", run: () => plane.zoom(1.25) },
    { key: "-", label: "Farther", run: () => plane.zoom(0.8) },
    { key: "0", label: "Show all points", run: showAll },
    { key: "←↑→↓", label: "In the plane: move the cursor (with Shift: farther)" },
    { key: "←→", label: "In the strip of weights: move x" },
    { key: "Enter", label: "In the plane: add a point" },
    { key: "Space", label: "In the plane: take the point under the cursor, or drop it" },
    { key: "Delete", label: "In the plane: erase the point under the cursor" },
    { key: "n, p", label: "In the plane: next and previous point" },
  ],
};
