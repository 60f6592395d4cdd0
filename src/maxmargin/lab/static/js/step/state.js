/**
 * The state of Step as plain data, and how anything (a link, an old session, {}) is made into one.
 *
 * The names are those of POST /api/trace; besides them `second`, the solver beside the first or "", `sync`, `at`, the
 * tick of the clock, `speed`, and the view.
 */

import { boxOf, modelOf, pointsOf } from "../classify/state.js";
import { SMALL } from "./examples.js";
import { SPEEDS } from "./player.js";
import { solverOf } from "./solvers.js";

export const MOST = 300; // points of a run
const FIRST = SMALL[1]; // what there is to see before anything was chosen

/** Everything that the tab remembers, out of anything. */
export function stateOf(given, options, examples) {
  const first = examples.find((example) => example.id === given.example) ?? FIRST;
  const state = Array.isArray(given.points) ? given : { ...first, ...given, points: first.points, example: first.id };
  const whole = (value, most) => (Number.isInteger(value) && value >= 0 && value <= most ? value : 0);
  const { kernel, C } = modelOf(state, options);
  return {
    points: pointsOf(state.points).filter((point) => point.c < 2).slice(0, MOST),
    kernel,
    C,
    solver: solverOf(state.solver) ? state.solver : "smo",
    second: solverOf(state.second) ? state.second : "",
    sync: state.sync === "share" ? "share" : "iteration",
    seed: whole(state.seed, 2 ** 31 - 1),
    at: whole(state.at, 10_000),
    speed: SPEEDS.includes(state.speed) ? state.speed : 4,
    box: boxOf(state.view),
    example: state.example,
  };
}
