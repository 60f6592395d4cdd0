/**
 * Classify: points of two to six classes, a machine that is fitted while they move, and what it says about itself.
 *
 * model ─ panel (controls) and board (points) change it ─ request.js asks the server ─ picture.js paints the answer.
 */

import { floats } from "../api.js";
import { createBoard } from "../board.js";
import { prepared } from "../classify/answer.js";
import { savedPicture } from "../classify/export.js";
import { createComment, createHints, createLegend, createReadout } from "../classify/notes.js";
import { createPanel } from "../classify/panel.js";
import { layersOf } from "../classify/picture.js";
import { SMALL, fitting } from "../classify/request.js";
import * as data from "../classify/state.js";
import { priceOf } from "../data.js";
import { askForTable } from "../dialogs.js";
import { el, short } from "../dom.js";
import { valueAt } from "../grid.js";
import { latest } from "../latest.js";

const { CLASSES, SHOWN, boxOf, kernelRequest, machineOf, pointsOf, randomPoints } = data;
const COARSE = 80; // nodes a side of the grid while something moves
const FINE = 160; // and at rest

const model = {
  points: /** @type {import("../points.js").Point[]} */ ([]),
  kernel: /** @type {any} */ ({ name: "linear" }),
  C: 10,
  solver: "auto",
  multiclass: "ovo",
  brush: 0,
  tool: /** @type {"add"|"erase"} */ ("add"),
  show: Object.fromEntries(Object.keys(SHOWN).map((key) => [key, true])),
};

let ctx, board, panel, fits, options;
let readout, legend, comment, hints;
let fit = /** @type {any} */ (null); // the last answer, ready to paint
let pending = /** @type {any} */ (null); // a state given before the options were there

function mount(root, context) {
  ctx = context;
  readout = createReadout();
  legend = createLegend();
  comment = createComment(() => {
    fits.drop();
    comment.alarm("The fit was cancelled: the picture is of the points before. Any change begins another one.");
  });
  hints = createHints();
  board = createBoard(ctx, {
    model,
    data,
    label: "Plane of points",
    hints: hints.roots,
    layers: layersOf,
    picture: { get fit() { return fit; } },
    brush: () => model.brush,
    ask,
    left: leaveExample,
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
    const [offered, presets] = await Promise.all([ctx.api("/api/options"), ctx.api("/api/presets")]);
    options = offered;
    const { changed, clear } = board;
    panel = createPanel({ model, options, presets, on: { changed, preset: usePreset, random, paste: () => askForTable(board.paste), clear, brush: chooseBrush } });
    side.replaceChildren(...panel.root, comment.root);
    setState(pending ?? {});
    ctx.commit("");
  } catch (error) {
    comment.alarm(error.message);
    side.replaceChildren(comment.root);
  }
}

// ---- changes --------------------------------------------------------------------------------------------------------

function usePreset(preset) {
  Object.assign(model, machineOf({ ...model, ...preset }, options));
  panel.refresh();
  board.replace(pointsOf(preset.points), boxOf(preset.view), `Example: ${preset.title}`);
  panel.example = preset.id;
  comment.note(preset.sentence);
  ctx.announce(preset.sentence);
}

function leaveExample() {
  if (panel) panel.example = "";
  comment.note("");
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
  hints.show(model.points, model.brush);
  ctx.announce(brush === "erase" ? "Erase points" : `Class ${brush + 1}`);
}

// ---- the fit --------------------------------------------------------------------------------------------------------

function ask(live) {
  hints.show(model.points, model.brush);
  panel?.several(new Set(model.points.map((p) => p.c)).size > 2);
  if (!options || (live && model.points.length > SMALL)) return;
  const nodes = live ? COARSE : FINE;
  const { view } = board.plane.frame;
  fits.ask({ ...machine(), points: board.rows(), view, grid: [nodes, nodes], live }, { ids: board.ids(), view, nodes }, { yields: !live });
}

function machine() {
  const { C, solver, multiclass } = model;
  return { kernel: options ? kernelRequest(model.kernel, options) : model.kernel, C: priceOf(C), solver, multiclass };
}

function answered(answer, { ids, view, nodes }) {
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
  const counts = legend.show(answer.kind === "inseparable" ? null : (fit?.records.values() ?? []));
  if (nodes === FINE && fit) {
    ctx.announce(answer.proof?.sentence ?? `${answer.n_support} support vectors, margin ${short(answer.margin ?? Infinity, 3)}, ${counts.misclassified} on the wrong side`);
  }
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

const getState = () => (options ? { ...board.state(), ...machine() } : (pending ?? {}));

function setState(state) {
  pending = state;
  if (!options) return;
  Object.assign(model, machineOf(state, options));
  panel.refresh();
  board.restore(state);
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
  picture: () => savedPicture({ plane: board.plane, ctx, model, fit }),
  shortcuts: /** @type {any[]} */ ([
    { key: "1–6", label: "New points are of this class" },
    ...Array.from({ length: CLASSES }, (_, k) => ({ key: String(k + 1), run: () => chooseBrush(k) })),
    { key: "e", label: "Erase points, until a class is chosen", run: () => chooseBrush("erase") },
    { key: "r", label: "Random points", run: random },
  ]),
};
