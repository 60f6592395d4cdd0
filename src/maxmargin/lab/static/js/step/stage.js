/**
 * Runs on the screen: one pane or two, the clock that says which frames they show, and the decision functions of these
 * frames. The tab and the page of a recorded run are built on it.
 */

import { boxOf } from "../classify/state.js";
import { el } from "../dom.js";
import { Pane } from "./pane.js";
import { Player } from "./player.js";
import { COARSE, timeline } from "./run.js";
import { createTransport, playerKeys } from "./transport.js";
import { createValues } from "./values.js";

const FINE = 120; // nodes a side of the grid at rest
const AHEAD = 4; // pictures fetched before they are due
const REST = 200; // milliseconds after which the picture may be fine

/**
 * @param {any} ctx
 * @param {{editor: any, points: () => import("../points.js").Point[],   of the planes
 *          fetched: (request: any) => Promise<Float32Array>,            the values of a frame on a grid
 *          speed: (speed: number) => void,                              the speed was chosen
 *          moved: (now: {run: import("./run.js").Run, k: number}[]) => void, the clock has moved
 *          rested: () => void}} host                                    it stands still for a moment
 */
export function createStage(ctx, host) {
  const player = new Player({ still: () => ctx.settings.still, ready, show, changed: moved });
  const values = createValues(host.fetched, { arrived: redraw });
  const transport = createTransport(player, { go: (tick) => (player.pause(), player.go(tick)), speed: host.speed });
  const labels = ["first solver", "second solver"];
  const panes = labels.map((label) => new Pane(ctx, { label, box: boxOf(null), editor: host.editor, points: host.points, onView: viewChanged, seek, hovered }));
  const area = el("div", { class: "panes" }, panes[0].root, panes[1].root);
  let ticks = /** @type {number[][]} */ ([]);
  let restTimer = 0;
  panes[1].root.hidden = true;
  transport.refresh();
  playerKeys(player, () => ctx.active());

  const running = () => panes.filter((pane) => pane.run);

  /** Frame of every pane that has a run, at a tick. */
  function shown(tick) {
    const frames = ticks[Math.min(tick, ticks.length - 1)] ?? [];
    return running().map((pane, j) => ({ pane, run: pane.run, k: frames[j] ?? 0 }));
  }

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
    for (const pane of panes) pane.playing = player.playing;
    const soon = [];
    for (let j = 0, tick = player.at; j < (player.playing ? AHEAD : 1); j++) soon.push(...shown((tick = player.after(tick))));
    const wanted = (list, nodes) => list.map(({ pane, run, k }) => ({ run, k, view: pane.plane.frame.view, nodes }));
    values.want([...wanted(now, COARSE), ...wanted(soon, COARSE)]);
    clearTimeout(restTimer);
    if (!player.playing) {
      restTimer = setTimeout(() => {
        values.want([...wanted(now, FINE), ...wanted(soon, COARSE)]);
        for (const { run, k, pane } of now) run.grid(k, pane.plane.frame.view, FINE);
        redraw();
        host.rested();
      }, REST);
    }
    host.moved(now);
  }

  function seek(pane, k) {
    const j = running().indexOf(pane);
    const tick = ticks.findIndex((frames) => frames[j] >= k);
    player.pause();
    player.go(tick < 0 ? player.end : tick);
  }

  /** Both planes show the same part of the plane. */
  function viewChanged(pane) {
    for (const other of panes) {
      if (other !== pane && JSON.stringify(other.plane.box) !== JSON.stringify(pane.plane.box)) other.plane.setBox({ ...pane.plane.box });
    }
    if (ctx.active()) {
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

  return {
    root: [area, transport.root],
    panes,
    running,
    player,
    transport,
    hovered,
    moved,
    /**
     * Puts the runs of the panes on one clock. @param {{two: boolean, sync: "iteration"|"share"}} how
     * @param {{at: number|null, share: number}} begin where: a tick, or a share of the run
     */
    arrange({ two, sync }, begin) {
      area.classList.toggle("two", two);
      if (panes[1].root.hidden === two) panes[1].root.hidden = !two;
      const runs = running().map((pane) => pane.run);
      ticks = timeline(runs, sync);
      const times = ticks.map((frames) => Math.max(...frames.map((k, j) => runs[j].frames[k].iteration)));
      player.load(times, begin.at ?? Math.round(begin.share * Math.max(0, ticks.length - 1)));
    },
  };
}
