/**
 * Questions to the server of which only the newest matters: at most one in flight, and of those that wait the last. So
 * what is shown follows the hand as fast as the server answers, and an older answer never comes after a newer one.
 */

import { overtaken } from "../api.js";

/**
 * @param {any} ctx
 * @param {string} path
 * @param {{
 *   answered: (answer: any, tag: any) => void,
 *   failed: (error: any, tag: any) => void,
 *   busy?: (on: boolean) => void,   when an answer takes long, and when it has come
 *   slow?: number,                  milliseconds that are long
 * }} host
 */
export function createLatest(ctx, path, { answered, failed, busy, slow = 400 }) {
  let next = /** @type {{request: any, tag: any}|null} */ (null);
  let flight = /** @type {AbortController|null} */ (null);

  async function fly({ request, tag }) {
    const mine = (flight = new AbortController());
    const timer = setTimeout(() => busy?.(true), slow);
    let answer, wrong;
    try {
      answer = await ctx.api(path, request, { signal: mine.signal });
    } catch (error) {
      wrong = error;
    }
    clearTimeout(timer);
    busy?.(false);
    if (mine.signal.aborted || overtaken(wrong)) return;
    if (wrong) failed(wrong, tag);
    else answered(answer, tag);
  }

  async function work() {
    try {
      while (next) {
        const question = next;
        next = null;
        await fly(question);
      }
    } finally {
      flight = null;
    }
  }

  return {
    /**
     * @param {any} request
     * @param {any} [tag] comes back with the answer
     * @param {{overtake?: boolean}} [how] overtake: the one in flight is ended, since it may take long
     */
    ask(request, tag, { overtake = false } = {}) {
      next = { request, tag };
      if (!flight) work();
      else if (overtake) flight.abort();
    },
    /** Nobody wants what was asked for any more. */
    drop() {
      next = null;
      flight?.abort();
    },
  };
}
