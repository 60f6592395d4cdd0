/**
 * Fits: at most one in flight, and of those that wait only the newest. So while a point is dragged the picture follows
 * as fast as the server answers, and never shows an older answer after a newer one.
 *
 * Up to `SMALL` points a fit is one call. More take long enough that the user wants to see them go: the server's
 * watched fits report their progress and can be cancelled.
 */

import { overtaken } from "../api.js";

export const SMALL = 1000;
const SLOW = 600; // milliseconds after which a fit is said to take long

/**
 * @param {any} ctx
 * @param {{
 *   answered: (answer: any, request: any, tag: any) => void,
 *   failed: (error: Error, tag: any) => void,
 *   progress: (progress: any|null) => void,   null when there is none (any more)
 * }} host
 */
export function createFitter(ctx, host) {
  let next = /** @type {{request: any, tag: any}|null} */ (null);
  let busy = false;
  let short = /** @type {AbortController|null} */ (null);
  let long = /** @type {AbortController|null} */ (null);

  async function work() {
    busy = true;
    while (next) {
      const { request, tag } = next;
      next = null;
      try {
        const answer = await (request.points.length > SMALL ? watched(request) : quick(request));
        host.answered(answer, request, tag);
      } catch (error) {
        if (!overtaken(error)) host.failed(error, tag);
      }
    }
    busy = false;
  }

  /** One call; if it takes long after all, the user can end it too. */
  async function quick(request) {
    short = new AbortController();
    const slow = setTimeout(() => host.progress({ iteration: 0 }), SLOW);
    try {
      return await ctx.api("/api/classify", request, { channel: "classify", signal: short.signal });
    } finally {
      clearTimeout(slow);
      host.progress(null);
      short = null;
    }
  }

  async function watched(request) {
    long = new AbortController();
    const { signal } = long;
    host.progress({ iteration: 0 });
    let answer = null;
    let wrong = null;
    try {
      const { id } = await ctx.api("/api/fits", request, { signal });
      const take = (name, data) => {
        if (name === "progress") host.progress(data);
        if (name === "done") answer = data;
        if (name === "error") wrong = data;
      };
      signal.addEventListener("abort", () => ctx.api(`/api/fits/${id}`, undefined, { method: "DELETE" }).catch(() => {}));
      await ctx.api.events(`/api/fits/${id}/events`, take, { signal });
    } finally {
      long = null;
      host.progress(null);
    }
    if (answer) return answer;
    if (!wrong || wrong.error === "superseded") throw new DOMException("superseded", "AbortError");
    throw Object.assign(new Error(wrong.error), { field: wrong.field ?? null });
  }

  return {
    /** Asks for a fit; `tag` comes back with the answer. */
    ask(request, tag) {
      next = { request, tag };
      if (!busy) work();
      else long?.abort();
    },
    /** Ends the fit that is in flight, and forgets the one that waits. */
    cancel() {
      next = null;
      (long ?? short)?.abort();
    },
  };
}
