/**
 * A square to draw on, with mouse, pen, finger or keyboard.
 *
 *     press and drag   draws a stroke           arrow keys   move the cursor (Shift: farther)
 *     Backspace        takes a stroke back      Space        puts the pen down, or lifts it
 *
 * Strokes are lists of places in the unit square, y downwards; the plane below has y upwards.
 */

import { el } from "../dom.js";
import { Plane } from "../plot.js";

const NEAR = 0.006; // of the side: places nearer to the last one are left out
const GAP = 0.02; // a quick hand leaves larger ones, whose corners are then cut
const WIDTH = 0.075; // of the line, as wide as the model's own after scaling
const STEP = 0.02; // of an arrow key

/** @typedef {[number, number][]} Stroke */

export class Pad {
  /**
   * @param {any} ctx
   * @param {{
   *   strokes: () => Stroke[],
   *   picture: () => CanvasImageSource & {width: number, height: number} | null,
   *   begin: (place: [number, number]) => Stroke|null,   a new stroke; null if there is no room
   *   changed: (label: string, live: boolean) => void,   live while the pen is down
   *   full: () => boolean,                               whether strokes may grow no more
   *   back: () => void,                                  takes the last stroke back
   * }} host
   */
  constructor(ctx, host) {
    this.ctx = ctx;
    this.host = host;
    this.stroke = /** @type {Stroke|null} */ (null); // the one that grows
    this.finger = -1; // whose it is
    this.cursor = /** @type {[number, number]|null} */ (null); // of the keyboard, while it is in use
    this.written = false; // by the keyboard
    const label = "Paper for a digit. Arrow keys move the pen, Space puts it down and lifts it, Backspace takes a stroke back.";
    this.canvas = el("canvas", { role: "application", tabindex: 0, "aria-label": label });
    this.plane = new Plane(this.canvas, { ctx, box: { x0: 0, x1: 1, y0: 0, y1: 1 } });
    this.plane.layers = [
      (g, frame, palette) => this.paintPicture(g, frame),
      (g, frame, palette) => this.paintStrokes(g, frame, palette),
      (g, frame, palette) => g.canvas === this.canvas && this.paintCursor(g, frame, palette),
    ];
    const on = (kind, run) => this.canvas.addEventListener(kind, run);
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.moved(event));
    for (const kind of ["pointerup", "pointercancel"]) on(kind, (event) => event.pointerId === this.finger && this.up());
    on("contextmenu", (event) => event.preventDefault());
    on("keydown", (event) => this.key(event));
    on("blur", () => this.leave());
  }

  redraw() {
    this.plane.redraw();
  }

  /** Ends whatever is being drawn, without a word: the strokes are about to be other ones. */
  stop() {
    this.stroke = null;
    this.written = false;
    this.finger = -1;
  }

  // ---- pointer ------------------------------------------------------------------------------------------------------

  place(event) {
    const [px, py] = this.plane.pixel(event);
    const { frame } = this.plane;
    return [part(frame.x(px)), part(1 - frame.y(py))];
  }

  down(event) {
    if (event.button !== 0 || this.finger !== -1) return; // a second finger
    this.lift();
    this.cursor = null;
    this.stroke = this.host.begin(this.place(event));
    if (!this.stroke) return;
    this.finger = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    this.host.changed("Draw a stroke", true);
    this.redraw();
  }

  moved(event) {
    if (!this.stroke || event.pointerId !== this.finger) return;
    const between = event.getCoalescedEvents?.() ?? [];
    for (const each of between.length ? between : [event]) this.grow(this.place(each), NEAR);
    this.host.changed("Draw a stroke", true);
    this.redraw();
  }

  grow([x, y], least) {
    const [u, v] = this.stroke.at(-1);
    if (Math.hypot(x - u, y - v) >= least && !this.host.full()) this.stroke.push([x, y]);
  }

  up() {
    const { stroke } = this;
    this.stop();
    if (!stroke) return;
    stroke.splice(0, stroke.length, ...smooth(stroke));
    this.host.changed("Draw a stroke", false);
    this.redraw();
  }

  // ---- keyboard -----------------------------------------------------------------------------------------------------

  key(event) {
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const act = { " ": "pen", Backspace: "remove", Delete: "remove", Escape: "leave" }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (!arrow && !act) || this.finger !== -1) return;
    if (act === "leave" && !this.cursor) return;
    event.preventDefault();
    this.cursor ??= [0.5, 0.2];
    if (arrow) this.walk(arrow, event.shiftKey ? 4 * STEP : STEP);
    else this[act]();
    this.redraw();
  }

  walk([dx, dy], far) {
    this.cursor = [part(this.cursor[0] + dx * far), part(this.cursor[1] + dy * far)];
    if (!this.stroke) return;
    this.grow(this.cursor, 1e-6);
    this.host.changed("Draw a stroke", true);
  }

  pen() {
    if (this.stroke) this.lift();
    else {
      this.stroke = this.host.begin(this.cursor);
      this.written = this.stroke !== null;
      if (this.written) this.ctx.announce("Pen down: arrow keys draw, Space lifts it");
    }
  }

  /** The keyboard's pen. */
  lift() {
    if (!this.written) return;
    this.stop();
    this.host.changed("Draw a stroke", false);
    this.ctx.announce("Pen up");
  }

  remove() {
    this.lift();
    this.host.back();
  }

  leave() {
    this.lift();
    this.cursor = null;
    this.redraw();
  }

  // ---- painting -----------------------------------------------------------------------------------------------------

  paintPicture(g, frame) {
    const picture = this.host.picture();
    if (!picture) return;
    const side = Math.min(frame.width, frame.height);
    const scale = side / Math.max(picture.width, picture.height);
    const [w, h] = [picture.width * scale, picture.height * scale];
    g.imageSmoothingQuality = "high";
    g.drawImage(picture, (frame.width - w) / 2, (frame.height - h) / 2, w, h);
  }

  paintStrokes(g, frame, palette) {
    g.lineWidth = WIDTH * frame.sx;
    g.lineCap = g.lineJoin = "round";
    g.strokeStyle = palette.ink;
    for (const stroke of this.host.strokes()) {
      g.beginPath();
      stroke.forEach(([x, y], k) => (k ? g.lineTo(frame.px(x), frame.py(1 - y)) : g.moveTo(frame.px(x), frame.py(1 - y))));
      if (stroke.length === 1) g.lineTo(frame.px(stroke[0][0]), frame.py(1 - stroke[0][1]));
      g.stroke();
    }
  }

  paintCursor(g, frame, palette) {
    if (!this.cursor) return;
    const [x, y] = [frame.px(this.cursor[0]), frame.py(1 - this.cursor[1])];
    const r = (WIDTH / 2) * frame.sx + 3;
    for (const [colour, width] of [[palette.plane, 5], [this.stroke ? palette.warn : palette.accent, 2.5]]) {
      g.strokeStyle = colour;
      g.lineWidth = width;
      g.beginPath();
      g.arc(x, y, r, 0, 2 * Math.PI);
      for (const [u, v] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        g.moveTo(x + r * u, y + r * v);
        g.lineTo(x + (r + 8) * u, y + (r + 8) * v);
      }
      g.stroke();
    }
  }
}

/** Inside of the square, with three digits: short links. */
const part = (value) => Number(Math.max(0, Math.min(1, value)).toFixed(3));

/** Cuts the corners of a stroke with few places (Chaikin 1974): each segment gives the points at 1/4 and 3/4. */
export function smooth(stroke) {
  let found = stroke;
  for (let pass = 0; pass < 2 && widest(found) > GAP; pass++) {
    const inner = found.slice(1).flatMap(([x, y], k) => {
      const [u, v] = found[k];
      if (Math.hypot(x - u, y - v) < GAP / 2) return [[x, y]];
      return [[part(0.75 * u + 0.25 * x), part(0.75 * v + 0.25 * y)], [part(0.25 * u + 0.75 * x), part(0.25 * v + 0.75 * y)]];
    });
    found = [found[0], ...inner, found.at(-1)];
  }
  return found;
}

function widest(stroke) {
  return Math.max(0, ...stroke.slice(1).map(([x, y], k) => Math.hypot(x - stroke[k][0], y - stroke[k][1])));
}
