/**
 * Step by step: a solver at work on a few points, or two of them side by side.
 *
 * model ─ panel and editor change it ─ POST /api/trace answers with a run ─ the stage shows it.
 */

import { floats, overtaken } from "../api.js";
import { boxOf, kernelRequest, modelOf, pointsOf } from "../classify/state.js";
import { penaltyOf, viewOf } from "../data.js";
import { el, short } from "../dom.js";
import { latest } from "../latest.js";
import { kernelWords } from "../model.js";
import { ofPoints } from "../points.js";
import { createChanges, missing } from "../step/changes.js";
import { SMALL, twoClasses } from "../step/examples.js";
import { slide } from "../film.js";
import { paintSlide } from "../step/export.js";
import { createNumbers } from "../step/numbers.js";
import { createPanel } from "../step/panel.js";
import { SPEEDS } from "../step/player.js";
import { Run } from "../step/run.js";
import { createFilming, recordedRuns, saveAsPage } from "../step/saving.js";
import { solverOf } from "../step/solvers.js";
import { createStage } from "../step/stage.js";
import { MOST, stateOf } from "../step/state.js";

const model = {
  points: /** @type {import("../points.js").Point[]} */ ([]),
  tool: /** @type {import("../step/pointset.js").Tool} */ ("move"),
  kernel: /** @type {any} */ ({ name: "linear" }),
  C: 10,
  solver: "smo",
  second: "",
  sync: /** @type {"iteration"|"share"} */ ("iteration"),
  seed: 0,
  example: "",
};

let ctx, options, examples, panel, stage, player, numbers, changes, film;
let panes = /** @type {import("../step/pane.js").Pane[]} */ ([]);
let pending = /** @type {any} */ (null);
let wished = /** @type {{at: number|null, share: number}} */ ({ at: 0, share: 0 }); // where the next run begins

function mount(root, context) {
  ctx = context;
  numbers = createNumbers();
  changes = createChanges({ ctx, model, most: MOST, set: setPoints, taken: useModel, refresh: () => panel?.refresh(), changed, begin });
  stage = createStage(ctx, {
    editor: changes.editor,
    points: () => model.points,
    fetched: async (request) => floats((await ctx.api("/api/trace-values", request)).values),
    speed: setSpeed,
    moved: numbers.show,
    rested: () => ctx.touch(),
  });
  ({ panes, player } = stage);
  film = createFilming(ctx, player, { panes: stage.running, model: words, name: () => ctx.exportName(`-${model.solver}`), changed: (on) => (panel.filming = on) });
  const side = el("aside", { class: "side", "aria-label": "Controls" });
  root.append(el("div", { class: "workspace step" }, el("div", { class: "stage" }, ...stage.root), side));
  tab.shortcuts.push(...changes.shortcuts);
  load(side);
  document.addEventListener("server-back", () => (options ? ask() : load(side)));
}

async function load(side) {
  try {
    const [offered, presets] = await Promise.all([ctx.api("/api/options"), ctx.api("/api/presets")]);
    options = offered;
    const save = () => saveAsPage(ctx, { ...requestOf(model.solver), second: model.second, sync: model.sync, view: viewOf(panes[0].plane.box) });
    const { classify, clear, tool } = changes;
    const on = { changed, synced, export: save, film: () => film.toggle(), open: openRun, preset: usePreset, classify, clear, tool };
    examples = [...SMALL, ...twoClasses(presets, MOST)];
    panel = createPanel({ ctx, model, options, presets: examples, on });
    side.replaceChildren(...panel.roots, numbers.root);
    setState(pending ?? {});
    ctx.commit("");
  } catch (error) {
    panes[0].load(null, "", error.message);
  }
}

// ---- changes --------------------------------------------------------------------------------------------------------

/** After every change: another run, shown at the same share of it. */
function changed(label, live) {
  if (label === "Move the view") return;
  player.pause();
  wished = { at: null, share: player.length > 1 ? player.at / player.end : 0 };
  ask();
  for (const pane of panes) pane.paint();
  if (live) ctx.touch();
  else if (label) {
    if (ofPoints(label)) tellExample("");
    ctx.commit(label);
  }
}

function setPoints(points, box) {
  model.points = points;
  tellExample("");
  for (const pane of panes) {
    pane.editor.cursor = pane.editor.held = null;
    if (box) pane.plane.setBox({ ...box });
  }
  stage.hovered(null);
}

function usePreset(preset) {
  setPoints(pointsOf(preset.points), boxOf(preset.view));
  useModel(preset);
  tellExample(preset.id);
  begin(`Example: ${preset.title}`);
  ctx.announce(preset.sentence);
}

/** Kernel and C of an example; a finite C where a solver needs one. */
function useModel(given) {
  const { kernel, C } = modelOf({ ...given }, options);
  const hard = [model.solver, model.second].every((name) => !name || solverOf(name).hard);
  Object.assign(model, { kernel, C: C === Infinity && !hard ? 100 : C });
  panel.refresh();
}

/** The example on the screen, and what to watch in it; "" for points of one's own. */
function tellExample(id) {
  const found = examples?.find((item) => item.id === id);
  model.example = panel.points.example = found?.id ?? "";
  numbers.note(found?.sentence ?? "");
}

/** Other points: from the first step again. */
function begin(label) {
  player.pause();
  wished = { at: 0, share: 0 };
  ask();
  ctx.commit(label, { landmark: true });
}

function synced() {
  wished = { at: null, share: player.length > 1 ? player.at / player.end : 0 };
  arrange();
  ctx.commit("Change how two solvers go in step");
}

// ---- runs -----------------------------------------------------------------------------------------------------------

/** The runs of the model, each with the sentence why there is none. */
async function runs(_, signal) {
  const lacking = missing(model.points);
  const found = [];
  for (const name of [model.solver, model.second]) {
    const request = requestOf(name);
    const one = { run: /** @type {Run|null} */ (null), name, sentence: name && lacking, field: /** @type {any} */ (undefined) };
    found.push(one);
    if (!name || lacking) continue;
    try {
      one.run = new Run(await ctx.api("/api/trace", request, { signal }), request);
    } catch (error) {
      if (!error.status || overtaken(error)) throw error;
      Object.assign(one, { sentence: error.message, field: error.field });
    }
  }
  return found;
}

/** They are put on the screen together. */
function loaded(found) {
  panel.error(null);
  found.forEach(({ run, name, sentence, field }, k) => {
    panes[k].load(run, name, sentence);
    if (field === undefined) return;
    panel.error(field, sentence);
    ctx.announce(sentence);
  });
  arrange();
}

const asking = latest(runs, {
  answered: loaded,
  failed: (error) => error.status !== 0 && panes[0].tell(error.message), // of a stopped server the banner tells
  busy: (on) => on && panes.forEach((pane) => !pane.run && pane.tell("Computing …")),
});

const ask = () => panel && asking.ask();

const rows = () => model.points.map(({ x, y, c }) => [x, y, c]);

function requestOf(solver) {
  return { points: rows(), kernel: kernelRequest(model.kernel, options), C: penaltyOf(model.C), solver, seed: model.seed };
}

/** Shows a run that was saved as a web page, as it was recorded. @param {File} file */
async function openRun(file) {
  try {
    const { runs, sync, view } = recordedRuns(await file.text());
    const [{ request }] = runs;
    const [solver, second = ""] = runs.map((run) => run.solver);
    setPoints(pointsOf(request.points), boxOf(view));
    const { kernel, C } = modelOf(request, options);
    Object.assign(model, { kernel, C, solver, second, sync });
    player.pause();
    wished = { at: 0, share: 0 };
    panel.refresh();
    asking.drop();
    loaded([0, 1].map((k) => ({ run: runs[k] ?? null, name: runs[k]?.solver ?? "", sentence: "" })));
    ctx.commit("Open a run", { landmark: true });
  } catch (error) {
    ctx.toast(error.message);
  }
}

/** Puts the runs on one clock. */
function arrange() {
  stage.arrange({ two: model.second !== "", sync: model.sync }, wished);
}

function setSpeed(speed) {
  player.speed = speed;
  stage.transport.refresh();
  ctx.touch();
}

/** The model of a run, for pictures and films. */
const words = ({ request, C }) => `${kernelWords(request.kernel, options, ctx.settings.width)}, C = ${short(C)}`;

const faster = (by) => setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(player.speed) + by))]);

// ---- the tab --------------------------------------------------------------------------------------------------------

function getState() {
  if (!options) return pending ?? {};
  const { second, sync } = model;
  const { at, speed } = player;
  return { ...requestOf(model.solver), second, sync, at: asking.busy ? (wished.at ?? at) : at, speed, view: viewOf(panes[0].plane.box), ...(model.example ? { example: model.example } : {}) };
}

function setState(state) {
  pending = state;
  if (!options) return;
  const { points, box, at, speed, example, ...rest } = stateOf(state, options, examples);
  Object.assign(model, rest);
  setPoints(points, box);
  tellExample(example);
  player.speed = speed;
  player.pause();
  wished = { at, share: 0 };
  panel.refresh();
  ask();
}

export const tab = {
  id: "step",
  title: "Step by step",
  mount,
  show() {
    // after a press on the tab's name the arrow keys shall be the player's; who came by keyboard stays there
    if (!document.activeElement?.matches(":focus-visible")) document.activeElement?.blur?.();
    for (const pane of panes) pane.plane.fit();
    if (options) stage.moved();
  },
  hide() {
    player.pause();
    film.stop();
  },
  getState,
  setState,
  picture() {
    if (!stage.running().length) return null;
    const canvas = slide();
    paintSlide(canvas, stage.running(), ctx.palette(), words);
    return canvas;
  },
  shortcuts: /** @type {any[]} */ ([
    { key: "Space", label: "Play or pause" },
    { key: "← →", label: "One step back, one step on" },
    { key: "Home", label: "To the beginning" },
    { key: "End", label: "To the end" },
    { key: "+", label: "Faster", run: () => faster(1) },
    { key: "-", label: "Slower", run: () => faster(-1) },
  ]),
};
