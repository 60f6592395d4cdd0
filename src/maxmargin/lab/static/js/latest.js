/**
 * Questions of which only the newest matters: one is worked on at a time, and of those that wait only the last is kept. So
 * what is shown follows the hand as fast as the server answers, and an older answer never comes after a newer one.
 */

import { overtaken } from "./api.js";

const LONG = 400; // milliseconds

/**
 * @param {(question: any, signal: AbortSignal) => Promise<any>} work
 * @param {{
 *   answered: (answer: any, tag: any) => void,
 *   failed: (error: any, tag: any) => void,
 *   busy?: (on: boolean) => void,   when an answer takes long, and when it has come
 * }} host
 */
export function latest(work, { answered, failed, busy }) {
  let next = /** @type {{question: any, tag: any, yields: boolean}|null} */ (null);
  let flight = /** @type {AbortController|null} */ (null);
  let endable = false; // it takes so long that a newer question may end it

  async function fly({ question, tag, yields }) {
    const { signal } = (flight = new AbortController());
    const timer = setTimeout(() => {
      endable = yields;
      busy?.(true);
    }, LONG);
    let answer, wrong;
    try {
      answer = await work(question, signal);
    } catch (error) {
      wrong = error;
    }
    clearTimeout(timer);
    endable = false;
    busy?.(false);
    if (signal.aborted || overtaken(wrong)) return;
    if (wrong) failed(wrong, tag);
    else answered(answer, tag);
  }

  async function run() {
    try {
      while (next) {
        const newest = next;
        next = null;
        await fly(newest);
      }
    } finally {
      flight = null;
    }
  }

  return {
    /**
     * @param {any} [question]
     * @param {any} [tag] comes back with the answer
     * @param {{overtake?: boolean, yields?: boolean}} [how] overtake: the one that is worked on is ended at once; yields: if
     *        this one takes long, a newer one ends it
     */
    ask(question, tag, { overtake = false, yields = false } = {}) {
      next = { question, tag, yields };
      if (!flight) run();
      else if (overtake || endable) flight.abort();
    },
    /** Nobody wants what was asked for any more. */
    drop() {
      next = null;
      flight?.abort();
    },
    get busy() {
      return flight !== null;
    },
  };
}

/** The work of asking the server at one address. @param {any} ctx @param {string} path */
export const asking = (ctx, path) => (request, signal) => ctx.api(path, request, { signal });
