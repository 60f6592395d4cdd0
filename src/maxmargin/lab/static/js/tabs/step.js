/**
 * Step by step: a solver at work on a few points, or two of them side by side.
 *
 * model ─ panel and editor change it ─ POST /api/trace answers with a run ─ player says which frames are on the screen
 * ─ values fetches their decision functions ─ the panes paint them.
 */

import { overtaken } from "../api.js";
import { boxOf, kernelRequest, machineOf, pointsOf } from "../classify/state.js";
import { priceOf, viewOf } from "../data.js";
import { el } from "../dom.js";
import { latest } from "../latest.js";
import { createChanges, missing } from "../step/changes.js";
import { SMALL, twoClasses } from "../step/examples.js";
import { savedPicture } from "../step/export.js";
import { createNumbers } from "../step/numbers.js";
import { Pane } from "../step/pane.js";
import { createPanel } from "../step/panel.js";
import { Player, SPEEDS } from "../step/player.js";
import { COARSE, Run, timeline } from "../step/run.js";
import { createFilm, saveAsPage } from "../step/saving.js";
import { solverOf } from "../step/solvers.js";
import { MOST, stateOf } from "../step/state.js";
import { createTransport, playerKeys } from "../step/transport.js";
import { createValues } from "../step/values.js";

const FINE = 120; // nodes a side of the grid at rest
const AHEAD = 4; // pictures fetched before they are due
const REST = 200; // milliseconds after which the picture may be fine

const model = {
  points: /** @type {import("../points.js").Point[]} */ ([]),
  tool: /** @type {import("../step/pointset.js").Tool} */ ("move"),
  kernel: /** @type {any} */ ({ name: "linear" }),
  C: 10,
  solver: "smo",
  second: "",
  sync: /** @type {"iteration"|"share"} */ ("iteration"),
  seed: 0,
};

let ctx, options, panel, player, transport, numbers, values, changes, film;
let panes = /** @type {Pane[]} */ ([]);
let area;
let ticks = /** @type {number[][]} */ ([]);
let pending = /** @type {any} */ (null);
let wished = /** @type {{at: number|null, share: number}} */ ({ at: 0, share: 0 }); // where the next run begins
let restTimer = 0;

function mount(root, context) {
  ctx = context;
  player = new Player({ still: () => ctx.settings.still, ready, show, changed: moved });
  values = createValues(ctx, { arrived: () => redraw(), failed: () => {} });
  transport = createTransport(player, { go: (tick) => (player.pause(), player.go(tick)), speed: setSpeed });
  numbers = createNumbers();
  changes = createChanges({ ctx, model, most: MOST, set: setPoints, taken: useMachine, refresh: () => panel?.refresh(), changed, begin });
  film = createFilm(ctx, player, { canvas: () => panes[0].canvas, name: () => ctx.exportName(`-${model.solver}`), changed: (on) => (panel.filming = on) });
  panes = ["first solver", "second solver"].map((label) => new Pane(ctx, { label, box: boxOf(null), editor: changes.editor, points: () => model.points, onView: viewChanged, seek, hovered }));
  area = el("div", { class: "panes" }, panes[0].root, panes[1].root);
  panes[1].root.hidden = true;
  const side = el("aside", { class: "side", "aria-label": "Controls" });
  root.append(el("div", { class: "workspace step" }, el("div", { class: "stage" }, area, transport.root), side));
  transport.refresh();
  tab.shortcuts.push(...changes.shortcuts);
  load(side);
  playerKeys(player, () => ctx.active());
  document.addEventListener("server-back", () => (options ? ask() : load(side)));
}

async function load(side) {
  try {
    const [offered, presets] = await Promise.all([ctx.api("/api/options"), ctx.api("/api/presets")]);
    options = offered;
    const save = () => saveAsPage(ctx, { ...requestOf(model.solver), view: panes[0].plane.frame.view });
    const { classify, clear, tool } = changes;
    const on = { changed, synced, export: save, film: () => film.toggle(), preset: usePreset, classify, clear, tool };
    panel = createPanel({ model, options, presets: [...SMALL, ...twoClasses(presets, MOST)], on });
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
    if (/point/.test(label)) leaveExample();
    ctx.commit(label);
  }
}

function setPoints(points, box) {
  model.points = points;
  leaveExample();
  for (const pane of panes) {
    pane.editor.cursor = pane.editor.held = null;
    if (box) pane.plane.setBox({ ...box });
  }
  hovered(null);
}

function usePreset(preset) {
  setPoints(pointsOf(preset.points), boxOf(preset.view));
  useMachine(preset);
  panel.points.example = preset.id;
  begin(`Example: ${preset.title}`);
  numbers.note(preset.sentence);
  ctx.announce(preset.sentence);
}

/** Kernel and C of an example; a finite C where a solver needs one. */
function useMachine(given) {
  const { kernel, C } = machineOf({ ...given }, options);
  const hard = [model.solver, model.second].every((name) => !name || solverOf(name).hard);
  Object.assign(model, { kernel, C: C === Infinity && !hard ? 100 : C });
  panel.refresh();
}

/** The points are no longer those of the example. */
function leaveExample() {
  panel.points.example = "";
  numbers.note("");
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
  return { points: rows(), kernel: kernelRequest(model.kernel, options), C: priceOf(model.C), solver, seed: model.seed };
}

/** Puts the runs on one clock. */
function arrange() {
  const two = model.second !== "";
  area.classList.toggle("two", two);
  if (panes[1].root.hidden === two) panes[1].root.hidden = !two;
  const running = panes.filter((pane) => pane.run);
  ticks = timeline(running.map((pane) => pane.run), model.sync);
  const at = wished.at ?? Math.round(wished.share * Math.max(0, ticks.length - 1));
  player.load(ticks.length, at);
}

/** Frame of every pane that has a run, at a tick. */
function shown(tick) {
  const frames = ticks[Math.min(tick, ticks.length - 1)] ?? [];
  return panes.filter((pane) => pane.run).map((pane, j) => ({ pane, run: pane.run, k: frames[j] ?? 0 }));
}

// ---- the clock ------------------------------------------------------------------------------------------------------

function show(from, to, t) {
  const before = shown(from);
  shown(to).forEach(({ pane, k }, j) => pane.show(before[j].k, k, t));
}

/** The picture again, after values have come. */
function redraw() {
  if (!player.move) show(player.at, player.at, 1);
}

function ready(tick) {
  return shown(tick).every(({ pane, run, k }) => run.grid(k, pane.plane.frame.view, COARSE));
}

/** The clock has moved: fetches what is on the screen, and what will be; at rest, finely. */
function moved() {
  transport.refresh();
  const now = shown(player.at);
  numbers.show(now);
  for (const pane of panes) pane.playing = player.playing;
  const soon = Array.from({ length: player.playing ? AHEAD : 1 }, (_, j) => shown(Math.min(player.end, player.at + (j + 1) * player.stride))).flat();
  const wanted = (list, nodes) => list.map(({ pane, run, k }) => ({ run, k, view: pane.plane.frame.view, nodes }));
  values.want([...wanted(now, COARSE), ...wanted(soon, COARSE)]);
  clearTimeout(restTimer);
  if (!player.playing) {
    restTimer = setTimeout(() => {
      values.want([...wanted(now, FINE), ...wanted(soon, COARSE)]);
      for (const { run, k, pane } of now) run.grid(k, pane.plane.frame.view, FINE);
      redraw();
      ctx.touch();
    }, REST);
  }
  if (!player.playing) film.ended();
}

function seek(pane, k) {
  const j = panes.filter((other) => other.run).indexOf(pane);
  const tick = ticks.findIndex((frames) => frames[j] >= k);
  player.pause();
  player.go(tick < 0 ? player.end : tick);
}

function setSpeed(speed) {
  player.speed = speed;
  transport.refresh();
  ctx.touch();
}

const faster = (by) => setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(player.speed) + by))]);

// ---- the planes -----------------------------------------------------------------------------------------------------

/** Both planes show the same part of the plane. */
function viewChanged(pane) {
  for (const other of panes) {
    if (other !== pane && JSON.stringify(other.plane.box) !== JSON.stringify(pane.plane.box)) other.plane.setBox({ ...pane.plane.box });
  }
  if (player && ctx.active()) {
    redraw();
    moved();
  }
}

function hovered(point) {
  for (const pane of panes) {
    if (pane.hover === point) continue;
    pane.hover = point;
    pane.paint();
  }
}

// ---- the tab --------------------------------------------------------------------------------------------------------

function getState() {
  if (!options) return pending ?? {};
  const { second, sync } = model;
  const { at, speed } = player;
  return { ...requestOf(model.solver), second, sync, at: asking.busy ? (wished.at ?? at) : at, speed, view: viewOf(panes[0].plane.box) };
}

function setState(state) {
  pending = state;
  if (!options) return;
  const { points, box, at, speed, ...rest } = stateOf(state, options);
  Object.assign(model, rest);
  setPoints(points, box);
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
    if (options) moved();
  },
  hide: () => player.pause(),
  getState,
  setState,
  picture: () => (panes[0].run ? savedPicture({ panes: panes.filter((pane) => pane.run), ctx }) : null),
  shortcuts: /** @type {any[]} */ ([
    { key: "Space", label: "Play or pause" },
    { key: "← →", label: "One step back, one step on" },
    { key: "Home", label: "To the beginning" },
    { key: "End", label: "To the end" },
    { key: "+", label: "Faster", run: () => faster(1) },
    { key: "-", label: "Slower", run: () => faster(-1) },
  ]),
};
