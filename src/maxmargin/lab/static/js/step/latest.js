/**
 * At most one call in flight, and of those that wait only the newest: a picture follows the hand as fast as the server
 * answers.
 */

/** @param {(stale: () => boolean) => Promise<void>} work asks `stale` after each wait whether a newer call has come */
export function latest(work) {
  let busy = false;
  let again = false;
  return {
    async ask() {
      again = true;
      if (busy) return;
      busy = true;
      while (again) {
        again = false;
        await work(() => again);
      }
      busy = false;
    },
    get busy() {
      return busy;
    },
  };
}
