/**
 * Classify: points of two to six classes, a model that is fitted while they move, and what it says about itself.
 *
 * model ─ panel (controls) and board (points) change it ─ request.js asks the server ─ picture.js paints the answer.
 */

import { floats } from "../api.js";
import { createBoard } from "../board.js";
import { prepared, probabilityOf } from "../classify/answer.js";
import { createCompare, captionOf } from "../classify/compare.js";
import { paintSlide, savedPicture } from "../classify/export.js";
import { addNoise, createLearning, heldOut } from "../classify/learning.js";
import { createLosses } from "../classify/losses.js";
import { createComment, createFigures, createHints, createLegend, createReadout } from "../classify/notes.js";
import { createPanel } from "../classify/panel.js";
import { layersOf } from "../classify/picture.js";
import { fitting } from "../classify/request.js";
import * as data from "../classify/state.js";
import { isNumber, penaltyOf } from "../data.js";
import { askForTable } from "../dialogs.js";
import { el, iconButton, short } from "../dom.js";
import { sweepFilms } from "../film.js";
import { valueAt } from "../grid.js";
import { latest } from "../latest.js";

const { CLASSES, SHOWN, boxOf, kernelRequest, modelOf, pointsOf, randomPoints } = data;
const COARSE = 80; // nodes a side of the grid while something moves
const FINE = 160; // and at rest
const FINEST = 280; // of two classes and few points, whose margins may bend sharply
const FEW = 400; // points

const FLAT = 1e-6; // differences of f that are none
const NU = 0.1;

const model = {
  points: /** @type {import("../points.js").Point[]} */ ([]),
  kernel: /** @type {any} */ ({ name: "linear" }),
  C: 10,
  nu: NU, // of points of one class
  solver: "auto",
  multiclass: "ovo",
  brush: 0,
  example: "",
  holdout: false, // every third point is only for testing
  probability: false, // colours show P(class) instead of f
  noise: 0, // how far the points were moved at random
  tool: /** @type {"add"|"erase"} */ ("add"),
  show: Object.fromEntries(Object.keys(SHOWN).map((key) => [key, true])),
};

let ctx, board, panel, fits, options, presets;
let readout, legend, comment, figures, losses, learning, compare, comparing, hints;
let fit = /** @type {any} */ (null); // the last answer, ready to paint
let pending = /** @type {any} */ (null); // a state given before the options were there

function mount(root, context) {
  ctx = context;
  readout = createReadout();
  legend = createLegend();
  comment = createComment(() => {
    fits.drop();
    comment.alarm("The fit was cancelled, and the picture is the one before. Any change starts a new fit.");
  });
  hints = createHints();
  figures = createFigures();
  losses = createLosses(ctx);
  learning = createLearning(ctx, model, (...change) => board.changed(...change));
  compare = createCompare(ctx, {
    prepare: ready,
    picture: { show: model.show, points: () => model.points, hover: () => board.editor.hover, held: () => new Set(held()), probability: () => model.probability },
    changed: (label, live) => board.changed(label.replace(/^Change/, "Change B:"), live),
    main: () => captionOf(model, options, fit, ctx.settings.width),
  });
  board = createBoard(ctx, {
    model,
    data,
    label: "Plane of points",
    hints: [...hints.roots, figures.root, compare.caption],
    layers: layersOf,
    picture: { get fit() { return fit; }, held: () => new Set(held()), probability: () => model.probability },
    brush: () => model.brush,
    ask,
    example: tellExample,
    hovered,
    viewed: () => compare.plane.setBox(board.plane.box),
    shown: () => compare.plane.redraw(),
  });
  comparing = iconButton("A|B", "A|B: compare two models on the same points (key b)", toggleCompare);
  board.root.querySelector(".corner").prepend(comparing);
  fits = latest(fitting(ctx, (p) => comment.progress(p)), { answered, failed, busy: (on) => comment.progress(on ? { iteration: 0 } : null) });

  const side = el("aside", { class: "side", "aria-label": "Controls" });
  root.append(el("div", { class: "workspace" }, el("div", { class: "stage" }, el("div", { class: "planes" }, board.root, compare.root), readout.root, legend.root), side));
  tab.shortcuts.push(...board.shortcuts);
  readout.show(null, {});
  load(side);
  document.addEventListener("server-back", () => (options ? board.changed("", false) : load(side)));
}

/** What can be chosen comes from the server; the panel is built once it is there. */
async function load(side) {
  try {
    [options, presets] = await Promise.all([ctx.api("/api/options"), ctx.api("/api/presets")]);
    const { changed, clear } = board;
    panel = createPanel({ ctx, model, options, presets, on: { changed, preset: usePreset, random, paste: () => askForTable(board.paste), clear, brush: chooseBrush } });
    compare.build(options);
    side.replaceChildren(...panel.root, compare.controls, comment.root, learning.root, losses.root);
    setState(pending ?? {});
    ctx.commit("");
  } catch (error) {
    comment.alarm(error.message);
    side.replaceChildren(comment.root);
  }
}

// ---- changes --------------------------------------------------------------------------------------------------------

function usePreset(preset) {
  Object.assign(model, modelOf({ ...model, ...preset }, options));
  panel.refresh();
  hints.show(model.points, model.brush, true); // whoever chooses has found the plane
  board.replace(pointsOf(preset.points), boxOf(preset.view), `Example: ${preset.title}`, preset.id);
  ctx.announce(preset.sentence);
}

/** The example on the screen, and what to watch in it; "" for points of one's own. */
function tellExample(id) {
  const preset = presets?.find((item) => item.id === id);
  model.example = preset?.id ?? "";
  model.noise = 0; // other points, or points moved by hand: from here on these are the ones without noise
  learning.refresh();
  if (panel) panel.example = model.example;
  comment.note(preset?.sentence ?? "");
}

function random() {
  const classes = Math.max(2, ...model.points.map((p) => p.c + 1));
  board.replace(randomPoints(classes, board.plane.box), board.plane.box, "Random points");
}

/** What a press on the plane does: adds a point of a class, or erases. */
function chooseBrush(brush) {
  model.tool = brush === "erase" ? "erase" : "add";
  if (brush !== "erase") model.brush = brush;
  panel?.refresh();
  hints.show(model.points, model.brush, false);
  ctx.announce(brush === "erase" ? "Erase points" : `Class ${brush + 1}`);
}

// ---- the fit --------------------------------------------------------------------------------------------------------

function ask(live) {
  hints.show(model.points, model.brush, live);
  comparing.setAttribute("aria-pressed", String(compare.on));
  const classes = new Set(model.points.map((p) => p.c)).size;
  const several = classes > 2;
  panel?.classes(classes);
  if (!options) return;
  const nodes = live ? COARSE : !several && model.points.length <= FEW ? FINEST : FINE;
  const { view } = board.plane.frame;
  const test = held();
  const train = model.points.filter((point) => !test.includes(point));
  const rows = { points: train.map(data.rowOf), ...(test.length ? { test: test.map(data.rowOf) } : {}) };
  const request = { ...settings(), ...rows, ...(classes === 1 ? { nu: model.nu } : {}), ...(model.probability ? { probability: true } : {}), view, grid: [nodes, nodes], live };
  const ids = (list) => list.map((point) => point.id);
  fits.ask(request, { ids: ids(train), test: ids(test), view, nodes, live }, { yields: !live });
  compare.ask(request, { ids: ids(train), test: ids(test), view, nodes, live }, board.plane.box, settings(compare.model));
  learning.follow(classes > 1 ? request : null);
}

/** The points that the model does not learn from. */
const held = () => (model.holdout ? heldOut(model.points) : []);

function settings({ kernel, C } = model) {
  const { solver, multiclass } = model;
  return { kernel: options ? kernelRequest(kernel, options) : kernel, C: penaltyOf(C), solver, multiclass };
}

/** The second plane: begins with the first one's model. */
function toggleCompare() {
  compare.set(!compare.on, compare.on ? undefined : model);
  board.changed(compare.on ? "Compare two models" : "Show one model", false);
}

/** An answer of the server, ready to paint. */
function ready(answer, { ids, test, view, nodes, live }) {
  const cut = (text) => {
    const all = floats(text);
    return Array.from({ length: all.length / nodes ** 2 }, (_, k) => all.subarray(k * nodes ** 2, (k + 1) * nodes ** 2));
  };
  return prepared(answer, { view, nx: nodes, ny: nodes, planes: cut(answer.values), pairs: cut(answer.pairs ?? ""), ids, test, live });
}

function answered(answer, tag) {
  const { live } = tag;
  panel.error(null);
  if (answer.kind === "empty") {
    fit = null;
    comment.show({ lines: [answer.sentence] });
  } else {
    answer.sigmoid ??= live ? fit?.answer.sigmoid : null; // it is fitted when the hand rests
    fit = ready(answer, tag);
    const impossible = answer.kind === "inseparable";
    const flat = isFlat() ? ["w = 0: f is the same everywhere, and every point gets the same class. Try another kernel."] : [];
    comment.show({
      first: answer.test ? 6 : 5,
      lines: impossible ? [`The faint colours show the soft margin at C = ${answer.soft_C}:`, ...answer.comment] : [...flat, ...answer.comment],
      certificate: impossible ? "" : answer.certificate,
      alarm: answer.proof?.sentence ?? "",
    });
  }
  const present = [...new Set(model.points.map((p) => p.c))].sort();
  hints.ringed(Boolean(fit) && answer.kind !== "inseparable");
  const counts = legend.show(answer.kind === "inseparable" ? null : (fit?.records.values() ?? []), present, Boolean(fit?.ties), answer.test);
  if (!live && fit) {
    ctx.announce(answer.proof?.sentence ?? (answer.kind === "one_class"
      ? `${answer.n_support} support vectors, ${counts.misclassified} points outside`
      : `${answer.n_support} support vectors, margin ${short(answer.margin ?? Infinity, 3)}, ${counts.misclassified} on the wrong side`));
  }
  figures.show(figuresOf(answer));
  const sign = (point) => (answer.classes[1] === point.c ? 1 : -1);
  legend.inside(answer.kind === "one_class");
  const costs = answer.kind === "binary" ? model.points.filter((point) => fit.records.has(point.id)) : [];
  losses.show(costs.map((point) => ({ c: point.c, m: sign(point) * fit.records.get(point.id).f })));
  hovered(lastHover);
  compare.tell();
  board.plane.redraw();
}

/** Whether w = 0. */
const isFlat = () => fit.answer.kind !== "one_class" && fit.planes.every((f) => f.every((value) => Math.abs(value - f[0]) < FLAT));

function failed(error) {
  if (error.status === 0) return; // the banner tells it
  if (!panel.error(error.field, error.message)) comment.alarm(error.message);
  else comment.alarm("");
  ctx.announce(error.message);
}

// ---- words ----------------------------------------------------------------------------------------------------------

/** What present mode writes on the plane: there are no margin, errors and support vectors without a model, and one class has a nu. */
function figuresOf(answer) {
  if (!fit || answer.kind === "inseparable") return { C: model.C };
  if (answer.kind === "one_class") return { "support vectors": answer.n_support, outside: answer.report.errors, "ν": model.nu };
  return { "support vectors": answer.n_support, margin: answer.margin ?? (isFlat() ? Infinity : null), errors: answer.report.errors, C: model.C, "test errors": answer.test?.errors };
}

let lastHover = /** @type {any} */ (null);

function hovered(at) {
  lastHover = at;
  const record = at?.point ? fit?.records.get(at.point.id) : null;
  let f = NaN;
  let label = null;
  if (at && fit) {
    const values = fit.planes.map((values) => valueAt({ view: fit.view, nx: fit.nx, ny: fit.ny, values }, at.x, at.y));
    f = values.length === 1 ? values[0] : Math.max(...values);
    if (Number.isFinite(f)) label = fit.answer.kind === "one_class" ? null : fit.answer.classes[values.length === 1 ? Number(f > 0) : values.indexOf(f)];
  }
  readout.show(at, { point: at?.point, record, f, label, probability: model.probability ? probabilityOf(fit, f) : null });
  if (board?.editor.cursor) ctx.announce(readout.text);
}

// ---- the tab --------------------------------------------------------------------------------------------------------

const getState = () => (options ? { ...board.state(), ...settings(), ...extras() } : (pending ?? {}));

/** What is not as it is at first. */
const extras = () => ({ ...flags(), ...(compare.on ? { compare: { kernel: settings(compare.model).kernel, C: penaltyOf(compare.model.C), ...compare.extras } } : {}) });
const flags = () => Object.fromEntries(["example", "holdout", "probability", "noise", "nu"].filter((key) => model[key] && (key !== "nu" || model.nu !== NU)).map((key) => [key, model[key]]));

/** Without points: those of its example; of a first visit, the first. */
function setState(given) {
  pending = given;
  if (!options) return;
  const first = presets.find((preset) => preset.id === given.example) ?? presets[0];
  const state = Array.isArray(given.points) ? given : { ...first, ...given, points: first.points, example: first.id };
  Object.assign(model, modelOf(state, options));
  board.restore(state);
  tellExample(state.example);
  Object.assign(model, { holdout: state.holdout === true, probability: state.probability === true });
  model.noise = isNumber(state.noise) ? Math.max(0, Math.min(1, state.noise)) : 0;
  if (!Array.isArray(given.points)) addNoise(model.points, 0, model.noise); // else they have it
  model.nu = isNumber(state.nu) && state.nu > 0 && state.nu <= 1 ? state.nu : NU;
  panel.refresh();
  learning.refresh();
  const second = state.compare && typeof state.compare === "object" ? modelOf(state.compare, options) : null;
  compare.set(Boolean(second), second ? { ...second, loss: state.compare.loss } : undefined);
  board.changed("", false);
}

/** The planes on the screen, for pictures and films. */
const shown = () => [{ plane: board.plane, ctx, model, points: model.points, options, fit }, ...(compare.on ? [{ plane: compare.plane, ctx, model: compare.model, points: model.points, options, fit: compare.fit }] : [])];

export const tab = {
  id: "classify",
  title: "Classify",
  mount,
  show: () => board.plane.fit(),
  hide: () => {},
  getState,
  setState,
  paste: (text) => board.paste(text).catch((error) => ctx.toast(error.message)),
  scriptState: () => ({ ...getState(), points: model.points.filter((point) => !held().includes(point)).map(data.rowOf) }),
  picture: () => savedPicture(shown()),
  films: () => sweepFilms(ctx, panel?.sweeps() ?? [], { paint: (canvas) => paintSlide(canvas, shown()), settled: () => !fits.busy && !compare.busy }),
  shortcuts: /** @type {any[]} */ ([
    { key: "1–6", label: "New points are of this class" },
    ...Array.from({ length: CLASSES }, (_, k) => ({ key: String(k + 1), run: () => chooseBrush(k) })),
    { key: "e", label: "Erase points, until a class is chosen", run: () => chooseBrush("erase") },
    { key: "r", label: "Random points", run: random },
    { key: "b", label: "Compare two models, or show one", run: toggleCompare },
  ]),
};
