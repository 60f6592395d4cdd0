/**
 * Records what a canvas shows as a film, for the "record a run" of tabs that move.
 *
 *     const film = record(canvas);     // null where the browser cannot
 *     ... draw ...
 *     await film.save("run");          // stops and hands the file to the browser
 */

import { download } from "./dom.js";

const KINDS = ["video/webm;codecs=vp8", "video/webm", "video/mp4"]; // the lightest first: pictures that come too late are lost

/** @param {HTMLCanvasElement} canvas @param {number} [rate] pictures a second */
export function record(canvas, rate = 30) {
  if (typeof MediaRecorder !== "function" || !canvas.captureStream) return null;
  const kind = KINDS.find((type) => MediaRecorder.isTypeSupported(type));
  if (!kind) return null;
  const stream = canvas.captureStream(rate);
  const recorder = new MediaRecorder(stream, { mimeType: kind, videoBitsPerSecond: 6_000_000 });
  const parts = /** @type {Blob[]} */ ([]);
  recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
  recorder.start();
  const stopped = () =>
    new Promise((done) => {
      recorder.addEventListener("stop", done, { once: true });
      recorder.stop();
    }).then(() => stream.getTracks().forEach((track) => track.stop()));
  return {
    /** @param {string} name without ending */
    async save(name) {
      await stopped();
      download(`${name}.${kind.includes("mp4") ? "mp4" : "webm"}`, new Blob(parts, { type: kind }));
    },
    /** Ends without a file. */
    cancel: stopped,
  };
}

const HELD = 1500; // milliseconds of the last picture of a film

/**
 * A film of a slider that sweeps from end to end.
 * @param {any} ctx @param {HTMLButtonElement} button that sweeps @param {(canvas: HTMLCanvasElement) => void} paint a slide
 */
export function filmSweep(ctx, button, paint) {
  const canvas = document.createElement("canvas");
  paint(canvas);
  const film = ctx.record(canvas);
  if (!film) {
    ctx.toast("This browser cannot record a film.");
    return;
  }
  ctx.toast("Recording until the sweep ends; press ■ to stop it.");
  if (button.getAttribute("aria-pressed") !== "true") button.click();
  const next = () => {
    paint(canvas);
    if (button.getAttribute("aria-pressed") === "true") requestAnimationFrame(next);
    else setTimeout(() => (paint(canvas), film.save(ctx.exportName("-sweep"))), HELD);
  };
  requestAnimationFrame(next);
}
