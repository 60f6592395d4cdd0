/**
 * Lift: points of two classes under a map into three dimensions, the plane that separates them there, and the curve that
 * it is in the input space.
 *
 * model ─ panel and editor change it ─ POST /api/lift answers ─ scene.js puts it into a cube ─ space.js and the plane
 * beside it paint it.
 */

import { boxOf, pointsOf } from "../classify/state.js";
import { five, hiddenOf, isNumber, penaltyOf, showAllBut, viewOf } from "../data.js";
import { el, fitWords, setText, short } from "../dom.js";
import { sweepFilms } from "../film.js";
import { latest } from "../latest.js";
import { inWidth, mapOf, SUITED } from "../lift/maps.js";
import { filmLifting, paintSlide, savedPicture } from "../lift/export.js";
import { createMorph } from "../lift/morph.js";
import { SHOWN, createPanel } from "../lift/panel.js";
import { Scene } from "../lift/scene.js";
import { Space } from "../lift/space.js";
import { Plane } from "../plot.js";
import { createChanges, missing } from "../step/changes.js";
import { twoClasses } from "../step/examples.js";
import { layersOf } from "../step/picture.js";
import { ofPoints } from "../points.js";
import { SetEditor } from "../step/pointset.js";

const MOST = 2000; // points
const NODES = 81; // of the grid, a side
const REST = 150; // milliseconds until a change of the view counts as finished

const model = {
  points: /** @type {import("../points.js").Point[]} */ ([]),
  tool: /** @type {import("../step/pointset.js").Tool} */ ("move"),
  map: "radial",
  gamma: 2,
  C: 10,
  example: "",
  show: Object.fromEntries(Object.keys(SHOWN).map((key) => [key, true])),
};

let ctx, presets, panel, space, plane, editor, morph, changes;
let sentences, hint;
let scene = /** @type {Scene|null} */ (null);
let t = 1;
let hover = /** @type {any} */ (null);
let pending = /** @type {any} */ (null);
let viewTimer = 0;

function mount(root, context) {
  ctx = context;
  const canvas = el("canvas", { class: "space", role: "application", "aria-label": "The lifted space. Arrow keys turn it." });
  const flat = el("canvas", { role: "application", "aria-label": "Plane of the points. Choose a class to add points with the keyboard." });
  sentences = el("div", { class: "sentences", "aria-live": "polite", tabindex: 0 });
  hint = el("div", { class: "hint", hidden: true });
  space = new Space(canvas, { ctx, given: () => ({ scene, t, show: model.show, hover }), hovered, turned });
  plane = new Plane(flat, { ctx, box: boxOf(null), onView: viewChanged });
  changes = createChanges({ ctx, model, most: MOST, set: setPoints, taken: () => {}, refresh: () => panel?.refresh(), changed, begin });
  editor = new SetEditor(plane, { ...changes.editor, hovered: (at) => hovered(at?.point ?? null) });
  plane.layers = [...layersOf(picture), (g, frame, palette) => g.canvas === flat && editor.paintCursor(g, frame, palette)];
  morph = createMorph({ still: () => ctx.settings.still, changed: (value) => ((t = value), space.redraw()), done: () => ctx.touch(), turn: toggleTurn });
  const side = el("aside", { class: "side", "aria-label": "Controls" });
  const beside = el("div", { class: "beside" }, el("div", { class: "plot" }, flat), sentences);
  const views = el("div", { class: "views" }, el("div", { class: "plot" }, canvas, hint), beside);
  root.append(el("div", { class: "workspace lift" }, el("div", { class: "stage" }, views, morph.root), side));
  tab.shortcuts.push(...changes.shortcuts);
  load(side);
  document.addEventListener("keydown", key);
  document.addEventListener("server-back", () => (presets ? ask() : load(side)));
  ctx.onSettings(() => {
    morph.turning = space.alive;
    write();
  });
  new ResizeObserver(() => fitWords(sentences)).observe(sentences);
}

async function load(side) {
  try {
    presets = twoClasses(await ctx.api("/api/presets"), MOST);
    panel = createPanel({ ctx, model, presets, on: { changed, map: useMap, shown, preset: usePreset, classify: changes.classify, clear: changes.clear, tool: changes.tool } });
    side.replaceChildren(...panel.roots);
    setState(pending ?? {});
    ctx.commit("");
  } catch (error) {
    tell(error.message);
  }
}

// ---- changes --------------------------------------------------------------------------------------------------------

function changed(label, live) {
  if (label === "Move the view") return;
  ask();
  plane.redraw();
  if (live) ctx.touch();
  else if (label) {
    if (ofPoints(label)) tellExample("");
    ctx.commit(label);
  }
}

function setPoints(points, box) {
  model.points = points;
  editor.cursor = editor.held = null;
  tellExample("");
  hovered(null);
  if (box) plane.setBox({ ...box });
}

/** Another map, seen from where it looks best. */
function useMap(name) {
  setMap(name);
  panel.refresh();
  changed("Change the map", false);
}

function setMap(name) {
  if (name !== model.map) [space.camera.azimuth, space.camera.elevation] = mapOf(name).eye;
  model.map = name;
}

function usePreset(preset) {
  setPoints(pointsOf(preset.points), boxOf(preset.view));
  setMap(SUITED[preset.id] ?? model.map);
  if (preset.kernel.name === "rbf") model.gamma = preset.kernel.gamma;
  model.C = preset.C === "inf" ? 100 : preset.C;
  panel.refresh();
  tellExample(preset.id);
  begin(`Example: ${preset.title}`);
}

/** The example on the screen; "" for points of one's own. */
function tellExample(id) {
  model.example = presets?.some((preset) => preset.id === id) ? id : "";
  if (panel) panel.points.example = model.example;
}

/** Other points. */
function begin(label) {
  ask();
  ctx.commit(label, { landmark: true });
}

function shown() {
  space.redraw();
  ctx.commit("Show or hide");
}

// ---- the answer -----------------------------------------------------------------------------------------------------

/** The lifted space, or the sentence why there is none. */
async function lifted(_, signal) {
  const lacking = missing(model.points);
  if (lacking) return { lacking };
  const { view } = plane.frame;
  const points = [...model.points];
  const answer = await ctx.api("/api/lift", { ...request(), view, grid: [NODES, NODES] }, { signal });
  return { answer, points, view };
}

const asking = latest(lifted, {
  answered({ lacking, answer, points, view }) {
    panel.error(null);
    if (lacking) show(null, lacking);
    else if (points.length === model.points.length) show(new Scene(answer, points, view));
  },
  failed(error) {
    if (error.status === 0) return; // of a stopped server the banner tells
    panel.error(error.field, error.message);
    show(null, error.message);
    ctx.announce(error.message);
  },
  busy: (on) => on && !scene && tell("Computing …"),
});

const ask = () => panel && asking.ask();

function show(found, sentence = "") {
  scene = found;
  tell(sentence);
  write();
  plane.redraw();
  space.redraw();
}

/** What there is to say about the scene, all of it in sight. */
function write() {
  sentences.replaceChildren(...(scene?.answer.comment ?? []).map((text) => el("p", {}, pretty(text))));
  fitWords(sentences);
}

function tell(sentence) {
  hint.hidden = !sentence;
  setText(hint, sentence);
}

/** "+1.5 x -2 y" as mathematics is printed. */
const pretty = (text) =>
  inWidth(text, ctx.settings.width)
    .replaceAll("sum of alpha_i y_i", "Σ αᵢ yᵢ")
    .replaceAll("x_i", "xᵢ")
    .replace(/(^|[ (])-(?=[\d.])/g, "$1−");

const rows = () => model.points.map(({ x, y, c }) => [x, y, c]);

function request() {
  const { map, gamma, C } = model;
  return { points: rows(), map, gamma, C: penaltyOf(C) };
}

/** What the plane beside the space shows. */
function picture() {
  return { run: null, k: 0, from: 0, t: 1, grid: scene?.grid ?? null, points: model.points, hover, support: scene?.points.length === model.points.length ? scene.support : null };
}

function hovered(point) {
  if (hover === point) return;
  hover = point;
  plane.redraw();
  space.redraw();
}

function turned() {
  morph.turning = space.alive;
  ctx.touch();
}

function toggleTurn() {
  if (ctx.settings.still) {
    ctx.toast("Your system asks for less motion: turn the space with the arrow keys or the mouse.");
    return;
  }
  space.turning = !space.turning;
  morph.turning = space.alive;
  space.redraw();
}

function viewChanged() {
  clearTimeout(viewTimer);
  viewTimer = setTimeout(() => {
    if (!ctx.active()) return;
    ask();
    ctx.commit("Change the view");
  }, REST);
}

/** Space lifts and flattens, where no control has the focus that takes the key itself. */
function key(event) {
  if (event.key !== " " || !ctx.active() || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea, dialog, button")) return;
  event.preventDefault();
  morph.toggle();
}

// ---- the tab --------------------------------------------------------------------------------------------------------

function getState() {
  if (!panel) return pending ?? {};
  const { azimuth, elevation, zoom } = space.camera;
  return {
    ...request(),
    lifted: five(morph.value),
    ...(space.turning ? {} : { eye: [azimuth, elevation, zoom].map(five) }),
    hidden: hiddenOf(model.show),
    view: viewOf(plane.box),
    ...(model.example ? { example: model.example } : {}),
  };
}

function setState(state) {
  pending = state;
  if (!panel) return;
  const between = (value, low, high, other) => (isNumber(value) && value >= low && value <= high ? value : other);
  const first = presets.find((preset) => preset.id === state.example) ?? presets.find((preset) => preset.id === "circles");
  const given = Array.isArray(state.points) ? state.points : first?.points;
  model.map = mapOf(state.map).name;
  model.gamma = between(state.gamma, 1e-6, 1e6, 2);
  model.C = state.C === "inf" ? Infinity : between(state.C, 1e-6, 1e9, 10);
  showAllBut(model.show, state.hidden);
  const eye = Array.isArray(state.eye) && state.eye.length === 3 && state.eye.every(isNumber) ? state.eye : null;
  space.turning = eye === null;
  const [azimuth, elevation] = eye ?? mapOf(model.map).eye;
  Object.assign(space.camera, { azimuth, elevation: between(elevation, 0.06, Math.PI / 2, 0.4), zoom: between(eye?.[2], 0.6, 3, 1) });
  setPoints(pointsOf(given).filter((point) => point.c < 2).slice(0, MOST), boxOf(state.view));
  tellExample(Array.isArray(state.points) ? state.example : first?.id);
  morph.value = between(state.lifted, 0, 1, 1);
  morph.turning = space.alive;
  panel.refresh();
  ask();
}

/** What pictures and films show. */
const onScreen = () => ({ space, plane, ctx, words: [`${mapOf(model.map).formula[ctx.settings.width]}, C = ${short(model.C)}`, ...(scene?.answer.comment ?? []).map(pretty)] });

function films() {
  if (!scene) return [];
  const paint = (canvas) => paintSlide(canvas, onScreen());
  const lifting = { title: "lift and turn", run: () => filmLifting(ctx, { space, paint, lift: (value) => (morph.value = value) }).then(turned) };
  return [lifting, ...sweepFilms(ctx, panel.sweeps(), { paint, settled: () => !asking.busy })];
}

export const tab = {
  id: "lift",
  title: "Lift",
  mount,
  show() {
    if (!document.activeElement?.matches(":focus-visible")) document.activeElement?.blur?.();
    space.visible = true;
    morph.turning = space.alive;
    plane.fit();
    space.redraw();
  },
  hide() {
    space.visible = false;
    morph.stop();
  },
  getState,
  setState,
  picture: () => (scene ? savedPicture(onScreen()) : null),
  films,
  shortcuts: /** @type {any[]} */ ([
    { key: "Space", label: "Lift or flatten" },
    { key: "←↑→↓", label: "In the space: turn it (with Shift: faster)" },
    { key: "t", label: "Turn slowly, or stop", run: toggleTurn },
  ]),
};
