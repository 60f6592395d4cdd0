/**
 * Decision functions of frames, fetched one after the other in the order of their urgency and kept with their run.
 *
 * A page has one call to /api/trace-values at a time (the server drops an earlier one), so what is wanted stands in a
 * queue that is replaced as a whole whenever the clock moves.
 */

/** @typedef {{run: import("./run.js").Run, k: number, view: import("../plot.js").Box, nodes: number}} Wanted */

/** @param {(request: any) => Promise<Float32Array>} fetched @param {{arrived: (wanted: Wanted) => void}} host */
export function createValues(fetched, { arrived }) {
  let queue = /** @type {Wanted[]} */ ([]);
  let busy = false;

  async function work() {
    busy = true;
    while (queue.length) {
      const wanted = queue.shift();
      const { run, k, view, nodes } = wanted;
      if (run.grid(k, view, nodes)) continue;
      try {
        run.keep(k, view, nodes, await fetched(run.valuesRequest(k, view, nodes)));
        arrived(wanted);
      } catch {
        queue = []; // overtaken, or the server is gone: the banner tells
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
