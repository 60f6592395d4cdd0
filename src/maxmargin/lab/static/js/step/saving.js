/** A run to take away: as a web page that plays it and can be opened again, and as a film. */

import { overtaken } from "../api.js";
import { download } from "../dom.js";
import { createFilm, pause, slide } from "../film.js";
import { paintSlide } from "./export.js";
import { Run } from "./run.js";
import { solverOf } from "./solvers.js";
import { MOST } from "./state.js";

const PATIENCE = 5000; // milliseconds that the values of a picture are waited for

/** @param {any} ctx @param {any} state of POST /api/recording */
export async function saveAsPage(ctx, state) {
  try {
    const answer = await ctx.api("/api/recording", { tab: "step", state }, { channel: "recording" });
    download(answer.name, new Blob([answer.html], { type: "text/html" }));
    ctx.toast(`Saved ${answer.frames} steps as ${answer.name}: it plays in any browser.`);
  } catch (error) {
    if (!overtaken(error)) ctx.toast(error.message);
  }
}

/**
 * The runs in a page that saveAsPage saved. The file may be anybody's: it is only read, and what is not as it should be is
 * an Error for the user. @param {string} text @returns {{runs: Run[], sync: "iteration"|"share", view: any}}
 */
export function recordedRuns(text) {
  const numbers = (list, n) => Array.isArray(list) && list.length === n && list.every((value) => value === null || Number.isFinite(value));
  try {
    const { runs, sync, view } = JSON.parse(new DOMParser().parseFromString(text, "text/html").getElementById("data").textContent);
    const n = runs[0].request.points.length;
    if (runs.length > 2 || !n || n > MOST || ![view.x0, view.x1, view.y0, view.y1].every(Number.isFinite)) throw new Error("bounds");
    for (const { request, answer } of runs) {
      const known = solverOf(answer.solver) && request.points.length === n && typeof request.kernel.name === "string" && numbers(answer.signs, n);
      const whole = answer.frames.length && answer.frames.every((frame) => numbers(frame.alpha, n) && numbers(frame.gradient, n) && Number.isInteger(frame.iteration) && typeof frame.note === "string");
      if (!known || !whole) throw new Error("a run");
    }
    return { runs: runs.map(({ request, answer }) => new Run(answer, request)), sync: sync === "share" ? "share" : "iteration", view };
  } catch {
    throw new Error("This file holds no run: choose a page that Step by step has saved.");
  }
}

/**
 * A film of the slides (export.js) of a run, from the first step to the last.
 * @param {any} ctx @param {import("./player.js").Player} player
 * @param {{panes: () => import("./pane.js").Pane[], model: (run: any) => string, name: () => string, changed: (filming: boolean) => void}} host
 */
export function createFilming(ctx, player, { panes, model, name, changed }) {
  let filming = false;

  /** Waits until the values of a tick have come. */
  async function arrived(tick) {
    for (const began = performance.now(); filming && !player.host.ready(tick) && performance.now() - began < PATIENCE; ) await pause(5);
  }

  async function run() {
    const canvas = slide();
    const film = await createFilm(canvas);
    if (!film) {
      ctx.toast("This browser cannot record a film: save the run as a web page instead.");
      return;
    }
    filming = true;
    changed(true);
    player.pause();
    const { times } = player;
    try {
      for (const { from, to, t, lasts } of player.pictures()) {
        if (player.at !== to) player.go(to);
        await arrived(to);
        if (!filming || player.times !== times) break; // stopped, or other points: what there is becomes the film
        player.host.show(from, to, t);
        paintSlide(canvas, panes(), ctx.palette(), model);
        await film.add(lasts);
      }
      await film.save(name());
    } catch (error) {
      ctx.toast(`The film failed: ${error.message}`);
    }
    filming = false;
    changed(false);
  }

  const stop = () => (filming = false);
  return { toggle: () => (filming ? stop() : player.length > 1 && run()), stop };
}
