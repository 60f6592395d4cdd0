/** The lifted space and the plane side by side, below them what is to be seen: as a picture, and as the slide of a film. */

import { HELD, PICTURE, SLIDE, createFilm, slide } from "../film.js";
import { Frame, sheet } from "../plot.js";

/** @typedef {{space: import("./space.js").Space, plane: import("../plot.js").Plane, ctx: any, words: string[]}} Shown */

const LIFTING = 36; // pictures from flat to lifted
const TURNING = 72; // pictures of a whole turn
const TURNED = 80; // milliseconds of each of them

/** @param {Shown} shown @returns {HTMLCanvasElement} */
export function savedPicture(shown) {
  const [width, height, { rem }] = [760, 620, shown.ctx.settings];
  const { canvas, g } = sheet(width + height, height + (1.5 * shown.words.length + 1) * rem, shown.ctx.palette());
  paint(g, shown, { width, height, beside: height, rem });
  return canvas;
}

/** The same as a slide of 1920 x 1080. @param {HTMLCanvasElement} canvas @param {Shown} shown */
export function paintSlide(canvas, shown) {
  const { rem } = SLIDE;
  const g = canvas.getContext("2d");
  g.save();
  g.fillStyle = shown.ctx.palette().surface;
  g.fillRect(0, 0, SLIDE.width, SLIDE.height);
  g.textBaseline = "middle";
  const height = SLIDE.height - (1.5 * shown.words.length + 1) * rem;
  const beside = Math.min(height, 0.42 * SLIDE.width);
  paint(g, shown, { width: SLIDE.width - beside, height, beside, rem });
  g.restore();
}

function paint(g, { space, plane, ctx, words }, { width, height, beside, rem }) {
  g.font = `${rem}px system-ui, sans-serif`;
  g.fillStyle = ctx.palette().ink;
  g.textAlign = "left";
  words.forEach((line, k) => g.fillText(line, rem, height + (1.5 * k + 1.2) * rem, width + beside - 2 * rem));
  space.paintOn(g, width, height, rem);
  g.save();
  g.translate(width, 0);
  plane.paintOn(g, new Frame(plane.box, beside, height, rem));
  g.restore();
  space.redraw(); // its camera was fitted to the picture
}

/**
 * A film of the points as they are lifted, and of the space as it turns once.
 * @param {any} ctx @param {{space: import("./space.js").Space, paint: (canvas: HTMLCanvasElement) => void, lift: (t: number) => void}} host
 */
export async function filmLifting(ctx, { space, paint, lift }) {
  const canvas = slide();
  const film = await createFilm(canvas);
  if (!film) {
    ctx.toast("This browser cannot record a film.");
    return;
  }
  ctx.toast("Filming: flat, lifted, and one turn.");
  space.touch();
  const add = async (milliseconds = PICTURE) => {
    paint(canvas);
    await film.add(milliseconds);
  };
  lift(0);
  await add(HELD);
  for (let k = 1; k <= LIFTING; k++) {
    lift(k / LIFTING);
    await add();
  }
  for (let k = 0; k < TURNING; k++) {
    space.camera.turn((2 * Math.PI) / TURNING, 0);
    await add(TURNED);
  }
  await add(HELD);
  await film.save(ctx.exportName("-lifting"));
}
