/**
 * Classify: points of two to six classes, a model that is fitted while they move, and what it says about itself.
 *
 * model ─ panel (controls) and board (points) change it ─ request.js asks the server ─ picture.js paints the answer.
 */

import { floats } from "../api.js";
import { createBoard } from "../board.js";
import { prepared } from "../classify/answer.js";
import { savedPicture } from "../classify/export.js";
import { createLosses } from "../classify/losses.js";
import { createComment, createFigures, createHints, createLegend, createReadout } from "../classify/notes.js";
import { createPanel } from "../classify/panel.js";
import { layersOf } from "../classify/picture.js";
import { fitting } from "../classify/request.js";
import * as data from "../classify/state.js";
import { penaltyOf } from "../data.js";
import { askForTable } from "../dialogs.js";
import { el, short } from "../dom.js";
import { valueAt } from "../grid.js";
import { latest } from "../latest.js";

const { CLASSES, SHOWN, boxOf, kernelRequest, modelOf, pointsOf, randomPoints } = data;
const COARSE = 80; // nodes a side of the grid while something moves
const FINE = 160; // and at rest
const FINEST = 280; // of two classes and few points, whose margins may bend sharply
const FEW = 400; // points

const model = {
  points: /** @type {import("../points.js").Point[]} */ ([]),
  kernel: /** @type {any} */ ({ name: "linear" }),
  C: 10,
  solver: "auto",
  multiclass: "ovo",
  brush: 0,
  example: "",
  tool: /** @type {"add"|"erase"} */ ("add"),
  show: Object.fromEntries(Object.keys(SHOWN).map((key) => [key, true])),
};

let ctx, board, panel, fits, options, presets;
let readout, legend, comment, figures, losses, hints;
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
  board = createBoard(ctx, {
    model,
    data,
    label: "Plane of points",
    hints: [...hints.roots, figures.root],
    layers: layersOf,
    picture: { get fit() { return fit; } },
    brush: () => model.brush,
    ask,
    example: tellExample,
    hovered,
  });
  fits = latest(fitting(ctx, (p) => comment.progress(p)), { answered, failed, busy: (on) => comment.progress(on ? { iteration: 0 } : null) });

  const side = el("aside", { class: "side", "aria-label": "Controls" });
  root.append(el("div", { class: "workspace" }, el("div", { class: "stage" }, board.root, readout.root, legend.root), side));
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
    side.replaceChildren(...panel.root, comment.root, losses.root);
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
  board.replace(pointsOf(preset.points), boxOf(preset.view), `Example: ${preset.title}`, preset.id);
  ctx.announce(preset.sentence);
}

/** The example on the screen, and what to watch in it; "" for points of one's own. */
function tellExample(id) {
  const preset = presets?.find((item) => item.id === id);
  model.example = preset?.id ?? "";
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
  const several = new Set(model.points.map((p) => p.c)).size > 2;
  panel?.several(several);
  if (!options) return;
  const nodes = live ? COARSE : !several && model.points.length <= FEW ? FINEST : FINE;
  const { view } = board.plane.frame;
  fits.ask({ ...settings(), points: board.rows(), view, grid: [nodes, nodes], live }, { ids: board.ids(), view, nodes, live }, { yields: !live });
}

function settings() {
  const { C, solver, multiclass } = model;
  return { kernel: options ? kernelRequest(model.kernel, options) : model.kernel, C: penaltyOf(C), solver, multiclass };
}

function answered(answer, { ids, view, nodes, live }) {
  panel.error(null);
  if (answer.kind === "empty") {
    fit = null;
    comment.show({ lines: [answer.sentence] });
  } else {
    const cut = (text) => {
      const all = floats(text);
      return Array.from({ length: all.length / nodes ** 2 }, (_, k) => all.subarray(k * nodes ** 2, (k + 1) * nodes ** 2));
    };
    fit = prepared(answer, { view, nx: nodes, ny: nodes, planes: cut(answer.values), pairs: cut(answer.pairs ?? ""), ids, live });
    const impossible = answer.kind === "inseparable";
    const flat = answer.margin === null ? ["w = 0: f is the same everywhere, and every point gets the same class. Try another kernel."] : [];
    comment.show({
      lines: impossible ? [`The faint colours show the soft margin at C = ${answer.soft_C}:`, ...answer.comment] : [...flat, ...answer.comment],
      certificate: impossible ? "" : answer.certificate,
      alarm: answer.proof?.sentence ?? "",
    });
  }
  const present = [...new Set(model.points.map((p) => p.c))].sort();
  const counts = legend.show(answer.kind === "inseparable" ? null : (fit?.records.values() ?? []), present, Boolean(fit?.ties));
  if (!live && fit) {
    ctx.announce(answer.proof?.sentence ?? `${answer.n_support} support vectors, margin ${short(answer.margin ?? Infinity, 3)}, ${counts.misclassified} on the wrong side`);
  }
  figures.show(fit && answer.kind !== "inseparable" ? [answer.n_support, answer.margin, answer.report.errors, model.C] : []);
  const sign = (point) => (answer.classes[1] === point.c ? 1 : -1);
  const costs = answer.kind === "binary" ? model.points.filter((point) => fit.records.has(point.id)) : [];
  losses.show(costs.map((point) => ({ c: point.c, m: sign(point) * fit.records.get(point.id).f })));
  hovered(lastHover);
  board.plane.redraw();
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
  if (board?.editor.cursor) ctx.announce(readout.text);
}

// ---- the tab --------------------------------------------------------------------------------------------------------

const getState = () => (options ? { ...board.state(), ...settings(), ...(model.example ? { example: model.example } : {}) } : (pending ?? {}));

/** Without points: those of its example; of a first visit, the first. */
function setState(given) {
  pending = given;
  if (!options) return;
  const first = presets.find((preset) => preset.id === given.example) ?? presets[0];
  const state = Array.isArray(given.points) ? given : { ...first, ...given, points: first.points, example: first.id };
  Object.assign(model, modelOf(state, options));
  panel.refresh();
  board.restore(state);
  tellExample(state.example);
  board.changed("", false);
}

export const tab = {
  id: "classify",
  title: "Classify",
  mount,
  show: () => board.plane.fit(),
  hide: () => {},
  getState,
  setState,
  paste: (text) => board.paste(text).catch((error) => ctx.toast(error.message)),
  picture: () => savedPicture({ plane: board.plane, ctx, model, options, fit }),
  shortcuts: /** @type {any[]} */ ([
    { key: "1–6", label: "New points are of this class" },
    ...Array.from({ length: CLASSES }, (_, k) => ({ key: String(k + 1), run: () => chooseBrush(k) })),
    { key: "e", label: "Erase points, until a class is chosen", run: () => chooseBrush("erase") },
    { key: "r", label: "Random points", run: random },
  ]),
};
