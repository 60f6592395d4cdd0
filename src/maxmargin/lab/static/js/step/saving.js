/** A run to take away: as a web page that plays it and can be opened again, and as a film. */

import { overtaken } from "../api.js";
import { pointsOf } from "../classify/state.js";
import { download } from "../dom.js";
import { createFilm, pause, slide } from "../film.js";
import { FORMULAS } from "../model.js";
import { paintSlide } from "./export.js";
import { Run } from "./run.js";
import { solverOf } from "./solvers.js";
import { MOST } from "./state.js";

const CURVES = ["iteration", "primal", "dual", "gap", "violation", "n_support", "errors"]; // of the frames
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
  try {
    const { runs, sync, view } = JSON.parse(new DOMParser().parseFromString(text, "text/html").getElementById("data").textContent);
    const n = runs[0].request.points.length;
    if (runs.length > 2 || !n || n > MOST || ![view.x0, view.x1, view.y0, view.y1].every(Number.isFinite)) throw new Error("bounds");
    if (!runs.every(({ request, answer }) => isRequest(request, n) && isAnswer(answer, request, n))) throw new Error("a run");
    return { runs: runs.map(({ request, answer }) => new Run(answer, request)), sync: sync === "share" ? "share" : "iteration", view };
  } catch {
    throw new Error("This file holds no run: choose a page that Step by step has saved.");
  }
}

const isNumber = (value) => (value ?? null) === null || Number.isFinite(value); // or none
const numbers = (list, n) => Array.isArray(list) && list.length === n && list.every(isNumber);

/** Whether a run's points and model are what they should be. */
function isRequest({ points, kernel, C }, n) {
  const known = Object.hasOwn(FORMULAS, kernel.name) && Object.entries(kernel).every(([key, value]) => key === "name" || Number.isFinite(value));
  return known && points.length === n && pointsOf(points).length === n && (C === "inf" || (Number.isFinite(C) && C > 0));
}

/** Whether its frames, curves and solution have all that is painted. */
function isAnswer({ solver, signs, frames, curves, steps, ended, final }, { kernel }, n) {
  const isFrame = (frame, k) =>
    numbers(frame.alpha, n) && numbers(frame.gradient, n) && (kernel.name !== "linear" || numbers(frame.w, 2)) && typeof frame.note === "string" &&
    Number.isInteger(frame.iteration) && (k === 0 || frame.iteration > frames[k - 1].iteration) && frame.chosen.every((i) => i >= 0 && i < n && Number.isInteger(i)) && [frame.b, frame.step, frame.mu, frame.mistakes].every(isNumber);
  const solution = Object.values(final).every((value) => isNumber(value) || numbers(value, value.length)) && (!final.alpha || numbers(final.alpha, n));
  return solverOf(solver) && signs.length === n && signs.every((sign) => Math.abs(sign) === 1) && frames.length && frames.every(isFrame) &&
    CURVES.every((name) => numbers(curves[name], frames.length)) && Number.isInteger(steps) && typeof ended === "string" && solution;
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
