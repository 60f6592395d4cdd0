/** A run to take away: as a web page that plays it, and as a film. */

import { overtaken } from "../api.js";
import { download } from "../dom.js";
import { paintSlide, slide } from "./export.js";

const HELD = 1500; // milliseconds of the last picture of a film

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
 * A film of the slides (export.js) while a player goes from the first step to the last.
 * @param {any} ctx @param {import("./player.js").Player} player
 * @param {{panes: () => import("./pane.js").Pane[], name: () => string, changed: (filming: boolean) => void}} host
 */
export function createFilm(ctx, player, { panes, name, changed }) {
  let film = /** @type {any} */ (null);
  let ending = 0;
  const canvas = slide();
  const paint = () => {
    paintSlide(canvas, panes(), ctx.palette());
    if (film) requestAnimationFrame(paint);
  };
  return {
    toggle() {
      if (film) {
        player.pause();
        this.ended();
        return;
      }
      if (player.length < 2) return;
      player.pause();
      player.go(0);
      film = ctx.record(canvas);
      if (!film) {
        ctx.toast("This browser cannot record a film: save the run as a web page instead.");
        return;
      }
      changed(true);
      paint();
      player.play();
    },
    /** The player stands still: the last picture is held, and what there is becomes the film. */
    ended() {
      if (!film || ending) return;
      ending = setTimeout(() => {
        film.save(name());
        film = null;
        ending = 0;
        changed(false);
      }, HELD);
    },
  };
}
