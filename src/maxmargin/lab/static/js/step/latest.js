/**
 * At most one call in flight, and of those that wait only the newest: a picture follows the hand as fast as the server
 * answers.
 */

const SLOW = 400; // milliseconds after which the user is told that there is something to wait for

/**
 * @param {(stale: () => boolean) => Promise<void>} work asks `stale` after each wait whether a newer call has come
 * @param {() => void} slow
 */
export function latest(work, slow) {
  let busy = false;
  let again = false;
  return {
    async ask() {
      again = true;
      if (busy) return;
      busy = true;
      const timer = setTimeout(slow, SLOW);
      try {
        while (again) {
          again = false;
          await work(() => again);
        }
      } finally {
        clearTimeout(timer);
        busy = false;
      }
    },
    get busy() {
      return busy;
    },
  };
}
