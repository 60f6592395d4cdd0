/**
 * Films of 1920 x 1080: pictures of a canvas, each with the time for which it is shown.
 *
 *     const film = await createFilm(canvas);   // null where the browser cannot
 *     ... paint ...
 *     await film.add(40);                      // what the canvas shows now, for 40 milliseconds
 *     await film.save("run");                  // hands the file to the browser
 *
 * Every picture is encoded, however long it took to compute and paint it: a busy computer makes filming slower, not the film.
 */

import { download } from "./dom.js";
import { webm } from "./webm.js";

export const SLIDE = { width: 1920, height: 1080, rem: 27 }; // pixels
export const PICTURE = 40; // milliseconds of one picture while something moves
export const HELD = 1500; // milliseconds of the last picture of a film
const SWEEP_MIN = 8000; // milliseconds of a film of a sweep: sliders of few notches stay longer on each
const KEY_INTERVAL = 4000; // milliseconds between two pictures at which a player can begin
const QUEUE_MAX_PICTURES = 4; // waiting to be encoded
const BITS_PER_SECOND = 16_000_000; // thin lines and shades stay as they are

/** A canvas for slides. @returns {HTMLCanvasElement} */
export const slide = () => Object.assign(document.createElement("canvas"), { width: SLIDE.width, height: SLIDE.height });

/** Resolves after so many milliseconds. */
export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** @param {HTMLCanvasElement} canvas */
export async function createFilm(canvas) {
  const { width, height } = canvas;
  const settings = { codec: "vp8", width, height, bitrate: BITS_PER_SECOND, framerate: 1000 / PICTURE };
  const able = typeof VideoEncoder === "function" && (await VideoEncoder.isConfigSupported(settings).catch(() => null))?.supported;
  if (!able) return null;
  const pictures = /** @type {{data: Uint8Array, time: number, key: boolean}[]} */ ([]);
  let [time, key, wrong] = [0, -Infinity, /** @type {any} */ (null)];
  let space = /** @type {any} */ (null); // of the encoder's colours
  const encoder = new VideoEncoder({
    output(chunk, about) {
      space ??= about?.decoderConfig?.colorSpace;
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      pictures.push({ data, time: Math.round(chunk.timestamp / 1000), key: chunk.type === "key" });
    },
    error: (error) => (wrong = error),
  });
  encoder.configure(settings);

  async function add(milliseconds) {
    while (encoder.encodeQueueSize > QUEUE_MAX_PICTURES && !wrong) await pause(2);
    if (wrong) throw wrong;
    const keyFrame = time - key >= KEY_INTERVAL;
    if (keyFrame) key = time;
    const picture = new VideoFrame(canvas, { timestamp: 1000 * time });
    encoder.encode(picture, { keyFrame });
    picture.close();
    time += Math.max(1, Math.round(milliseconds));
  }

  return {
    add,
    /** @param {string} name without ending */
    async save(name) {
      await add(0); // the last picture again, at the end of its time: players show it until then
      await encoder.flush();
      encoder.close();
      download(`${name}.webm`, webm(pictures, { width, height, duration: time, space }));
    },
  };
}

/**
 * A film of a slider that sweeps from end to end, one notch after the other.
 * @param {any} ctx @param {HTMLButtonElement & {sweep: Function}} button that sweeps
 * @param {{paint: (canvas: HTMLCanvasElement) => void, settled: () => boolean}} host paint: a slide; settled: whether what is
 *        on the screen is the answer to where the slider stands
 */
export async function filmSweep(ctx, button, { paint, settled }) {
  const canvas = slide();
  const film = await createFilm(canvas);
  if (!film) {
    ctx.toast("This browser cannot record a film.");
    return;
  }
  ctx.toast("Filming until the sweep ends; press ■ to stop it.");
  await button.sweep(async (at, end) => {
    while (!settled()) await pause(5);
    paint(canvas);
    await film.add(at === end ? HELD : Math.max(PICTURE, SWEEP_MIN / end));
    return at + 1;
  });
  await film.save(ctx.exportName("-sweep"));
}

/**
 * The films of the sliders in sight that can sweep, for a tab's `films`.
 * @param {any} ctx @param {Iterable<HTMLElement>} fields @param {Parameters<typeof filmSweep>[2]} host of filmSweep
 */
export const sweepFilms = (ctx, fields, host) =>
  [...fields].filter((field) => field.checkVisibility() && field.querySelector(".sweep:enabled")).map((field) => ({
    title: `sweep ${field.querySelector("label").textContent.split(" ").at(-1)}`,
    run: () => filmSweep(ctx, /** @type {any} */ (field.querySelector(".sweep")), host),
  }));
