/**
 * Decision functions of frames, fetched one after the other in the order of their urgency and kept with their run.
 *
 * A page has one call to /api/trace-values at a time (the server drops an earlier one), so what is wanted stands in a
 * queue that is replaced as a whole whenever the clock moves.
 */

import { floats, overtaken } from "../api.js";

/** @typedef {{run: import("./run.js").Run, k: number, view: import("../plot.js").Box, nodes: number}} Wanted */

/** @param {any} ctx @param {{arrived: (wanted: Wanted) => void, failed: (error: Error) => void}} host */
export function createValues(ctx, { arrived, failed }) {
  let queue = /** @type {Wanted[]} */ ([]);
  let busy = false;

  async function work() {
    busy = true;
    while (queue.length) {
      const wanted = queue.shift();
      const { run, k, view, nodes } = wanted;
      if (run.grid(k, view, nodes)) continue;
      try {
        const answer = await ctx.api("/api/trace-values", run.valuesRequest(k, view, nodes));
        run.keep(k, view, nodes, floats(answer.values));
        arrived(wanted);
      } catch (error) {
        queue = [];
        if (!overtaken(error)) failed(error);
      }
    }
    busy = false;
  }

  return {
    /** @param {Wanted[]} wanted the most urgent first */
    want(wanted) {
      queue = wanted;
      if (!busy) work();
    },
  };
}
