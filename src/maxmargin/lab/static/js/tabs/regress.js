/**
 * Regression: points (x, y), a curve that is fitted while they move, and what each prediction is made of.
 *
 * model ─ panel (controls) and board (points) change it ─ /api/regress answers with the curve, /api/blend with the
 * weights at the cursor ─ picture.js and strip.js paint them.
 */

import { createBoard } from "../board.js";
import { createComment } from "../classify/notes.js";
import { el, setText, short } from "../dom.js";
import { sweepFilms } from "../film.js";
import { asking, latest } from "../latest.js";
import { EXAMPLES } from "../regress/examples.js";
import { paintSlide, savedPicture } from "../regress/export.js";
import { coefficientNames, createHint, createLegend, createNumbers, createReadout, lettered } from "../regress/notes.js";
import { createPanel } from "../regress/panel.js";
import { layersOf, valueOn } from "../regress/picture.js";
import * as data from "../regress/state.js";
import { createStrip } from "../regress/strip.js";

const { HOME, SHOWN, pointsOf, settingsOf, settingsRequest } = data;
const COARSE = 200; // samples of the curve while something moves
const FINE = 400; // and at rest

const model = {
  points: /** @type {import("../points.js").Point[]} */ ([]),
  tool: /** @type {"add"|"erase"} */ ("add"),
  show: Object.fromEntries(Object.keys(SHOWN).map((key) => [key, true])),
  example: "",
  ...settingsOf({}),
};

let ctx, board, panel, strip, curves, blends;
let readout, legend, comment, numbers, hint, sentence;
let fit = /** @type {any} */ (null); // the last answer, ready to paint
let at = /** @type {number|null} */ (null); // x of the cursor; it stays where the pointer left the plane
let under = /** @type {any} */ (null); // the point at the cursor
let exact = /** @type {{at: number, value: number}|null} */ (null); // f at the cursor; the curve only has samples of it
let fresh = true; // the curve is another one than that of the last weights

function mount(root, context) {
  ctx = context;
  readout = createReadout();
  legend = createLegend();
  comment = createComment(() => {
    curves.drop();
    comment.alarm("The fit was cancelled, and the curve is the one before. Any change starts a new fit.");
  });
  numbers = createNumbers();
  hint = createHint();
  sentence = el("p", { class: "sentence" });
  board = createBoard(ctx, {
    model,
    data,
    label: "Plane of points x, y",
    equal: false,
    hints: hint.roots,
    layers: layersOf,
    picture: { get fit() { return fit; }, get at() { return at; } },
    ask,
    example: tellExample,
    hovered,
    viewed: () => strip.fit(),
    shown: showStrip,
  });
  strip = createStrip({ ctx, plane: board.plane, points: () => model.points, at: () => at, move: (x) => moveTo(x, null) });
  curves = latest(asking(ctx, "/api/regress"), { answered, failed, busy: (on) => comment.progress(on ? { iteration: 0 } : null) });
  blends = latest(asking(ctx, "/api/blend"), { answered: blended, failed: () => blended(null, {}) });
  panel = createPanel({ ctx, model, on: { changed: board.changed, example, clear: board.clear, tool } });

  const stage = el("div", { class: "stage regress" }, board.root, strip.root, readout.root, sentence, legend.root);
  comment.root.append(numbers.root);
  root.append(el("div", { class: "workspace" }, stage, el("aside", { class: "side", "aria-label": "Controls" }, ...panel.root, comment.root)));
  tab.shortcuts.push(...board.shortcuts);
  document.addEventListener("server-back", () => board.changed("", false));
}

// ---- changes --------------------------------------------------------------------------------------------------------

function example({ id, title, points, settings, sentence: words }) {
  Object.assign(model, settingsOf({ ...settingsRequest(model), ...settings }));
  panel.refresh();
  board.replace(pointsOf(points), { ...HOME }, `Example: ${title}`, id);
  ctx.announce(words);
}

/** The example on the screen, and what to watch in it; "" for points of one's own. */
function tellExample(id) {
  const found = EXAMPLES.find((item) => item.id === id);
  model.example = found?.id ?? "";
  panel.example = model.example;
  comment.note(found?.sentence ?? "");
}

function tool(value) {
  model.tool = value;
  panel.refresh();
  ctx.announce(value === "erase" ? "Erase points" : "Add points");
}

// ---- the curve ------------------------------------------------------------------------------------------------------

/** What the server is asked for, and what the script is written from. */
const question = (samples = FINE) => ({ ...settingsRequest(model), points: board.rows(), view: board.plane.frame.view, samples });

function ask(live) {
  hint.show(model.points, model.model);
  if (model.points.length <= Number(model.model === "svr")) {
    curves.drop();
    forget();
    comment.show({ lines: [] });
    return;
  }
  const samples = live ? COARSE : FINE;
  curves.ask(question(samples), { ids: board.ids(), settings: settingsRequest(model), names: coefficientNames(model, model.points), samples });
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
  board.plane.redraw();
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
  board.plane.redraw();
}

// ---- the cursor -----------------------------------------------------------------------------------------------------

function hovered(place) {
  if (place) moveTo(place.point ? place.point.x : place.x, place.point);
  else under = null;
  tell();
  if (board?.editor.cursor) ctx.announce(readout.text);
}

function moveTo(x, point) {
  under = point;
  if (x !== at) {
    at = x;
    askBlend();
  }
  tell();
  board.plane.redraw();
}

function tell() {
  const f = exact?.at === at ? exact.value : valueOn(fit?.curve, at);
  readout.show(fit ? at : null, f, { point: under, record: under && fit?.records.get(under.id) });
  strip.moved();
}

function askBlend() {
  const { x0, x1 } = board.plane.frame.view;
  at ??= Number((x0 + 0.4 * (x1 - x0)).toPrecision(3));
  if (fit && model.show.weights) blends.ask({ ...question(), at }, { ids: board.ids() });
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

const getState = () => ({ ...settingsRequest(model), ...board.state(), ...(model.example ? { example: model.example } : {}) });

/** Without points: those of its example; of a first visit, the first. */
function setState(given) {
  const first = EXAMPLES.find((example) => example.id === given.example) ?? EXAMPLES[0];
  const state = Array.isArray(given.points) ? given : { ...first.settings, ...given, points: first.points, example: first.id };
  Object.assign(model, settingsOf(state));
  panel.refresh();
  board.restore(state);
  tellExample(state.example);
  showStrip();
  board.changed("", false);
}

/** What pictures and films show. */
const shown = () => ({ plane: board.plane, strip: strip.plane, ctx, settings: settingsRequest(model), fit, show: model.show });

export const tab = {
  id: "regress",
  title: "Regression",
  mount,
  show: () => board.plane.fit(),
  hide: () => {},
  getState,
  setState,
  scriptState: () => question(),
  paste: (text) => board.paste(text).catch((error) => ctx.toast(error.message)),
  picture: () => savedPicture(shown()),
  films: () => sweepFilms(ctx, panel.sweeps(), { paint: (canvas) => paintSlide(canvas, shown()), settled: () => !curves.busy && !blends.busy }),
  shortcuts: /** @type {any[]} */ ([
    { key: "a", label: "Add points, or move them", run: () => tool("add") },
    { key: "e", label: "Erase points", run: () => tool("erase") },
    { key: "←→", label: "In the strip of weights: move x" },
  ]),
};
