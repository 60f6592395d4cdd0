/**
 * Points edited by mouse, pen, touch and keyboard on a plane.
 *
 *     press on the plane     adds a point, which can be dragged at once      right click, or tool "erase"   erases
 *     press on a point       drags it                                        wheel, or two fingers          zoom
 *     Shift and drag, or two fingers   move the view
 *     arrow keys             move the cursor (Shift: farther)                Enter     adds a point there
 *     Space                  takes the point under the cursor, or drops it   Delete    erases it
 *     n, p                   to the next and the previous point
 */

import { pointOf } from "./data.js";
import { watchPinch } from "./pinch.js";

const REACH = { mouse: 12, pen: 14, touch: 24 }; // pixels within which a press means a point
const STEP = 8; // pixels of an arrow key

/** @param {PointerEvent} event */
export const reachOf = (event) => REACH[event.pointerType] ?? REACH.mouse;

/** @typedef {{id: number, x: number, y: number, c: number}} Point */

/** Whether a change is the editor's, of single points: then they are no longer those of an example. @param {string} label */
export const ofPoints = (label) => /^(Add|Move|Erase) (a point|points)$/.test(label);

/**
 * What every editor does with the points of a tab's model.
 * @param {any} ctx @param {{points: Point[], tool: any}} model @param {number} most points @param {() => number} brush class
 *        of a new point
 */
export const pointActions = (ctx, model, most, brush) => ({
  points: () => model.points,
  tool: () => model.tool,
  add(x, y) {
    if (model.points.length >= most) {
      ctx.toast(`${most.toLocaleString("en")} points are the most that this tab takes.`);
      return null;
    }
    const point = pointOf(x, y, brush());
    model.points.push(point);
    return point;
  },
  erase: (point) => model.points.splice(model.points.indexOf(point), 1),
  say: (text) => ctx.announce(text),
});

export class PointEditor {
  /**
   * @param {import("./plot.js").Plane} plane
   * @param {{
   *   points: () => Point[],
   *   tool: () => "add"|"erase",
   *   add: (x: number, y: number) => Point|null,      a new point of the chosen class; null if there is no room
   *   erase: (point: Point) => void,
   *   changed: (label: string, live: boolean) => void, live while the hand is still down
   *   hovered: (at: {x: number, y: number, point: Point|null}|null) => void,
   *   say: (text: string) => void,
   * }} host
   */
  constructor(plane, host) {
    this.plane = plane;
    this.host = host;
    this.cursor = /** @type {{x: number, y: number}|null} */ (null); // of the keyboard, while it is in use
    this.held = /** @type {Point|null} */ (null); // by the keyboard
    this.gesture = /** @type {any} */ (null); // of the pointer
    this.finger = -1; // whose it is
    this.hover = /** @type {Point|null} */ (null);
    const { canvas } = plane;
    canvas.tabIndex = 0;
    const pinch = watchPinch(canvas, {
      begin: () => this.takeBack(),
      moved: (factor, from, to) => this.pinched(factor, from, to),
      ended: () => host.changed("Move the view", false),
    });
    canvas.addEventListener("pointerdown", (event) => !this.gesture && !pinch.active && this.down(event));
    canvas.addEventListener("pointermove", (event) => !pinch.active && this.moved(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => event.pointerId === this.finger && this.up());
    canvas.addEventListener("pointerleave", () => !this.gesture && this.point(null));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => this.leave());
  }

  /** The point near a place of the canvas, or null. */
  nearest(px, py, reach) {
    const { frame } = this.plane;
    let best = null;
    let least = reach * reach;
    for (const point of this.host.points()) {
      const d = (frame.px(point.x) - px) ** 2 + (frame.py(point.y) - py) ** 2;
      if (d <= least) [best, least] = [point, d];
    }
    return best;
  }

  /** Tells the host what is under the pointer or the cursor. */
  point(at) {
    this.hover = at?.point ?? null;
    this.host.hovered(at);
    this.plane.redraw();
  }

  move(point, x, y) {
    const { x0, x1, y0, y1 } = this.plane.frame.view;
    point.x = round(Math.max(x0, Math.min(x1, x)), this.plane);
    point.y = round(Math.max(y0, Math.min(y1, y)), this.plane);
  }

  // ---- pointer ------------------------------------------------------------------------------------------------------

  down(event) {
    const [px, py] = this.plane.pixel(event);
    const { frame, canvas } = this.plane;
    this.cursor = this.held = null;
    this.finger = event.pointerId;
    canvas.setPointerCapture(event.pointerId);
    const reach = reachOf(event);
    const hit = this.nearest(px, py, reach);
    if (event.button === 1 || event.shiftKey) this.gesture = { kind: "pan", px, py };
    else if (event.button === 2 || this.host.tool() === "erase") {
      this.gesture = { kind: "erase", erased: 0, reach };
      this.rub(hit);
    } else if (hit) {
      this.gesture = { kind: "drag", point: hit, from: { x: hit.x, y: hit.y }, dx: frame.px(hit.x) - px, dy: frame.py(hit.y) - py, label: "Move a point", done: false };
    } else {
      const point = this.host.add(round(frame.x(px), this.plane), round(frame.y(py), this.plane));
      if (!point) return;
      this.gesture = { kind: "drag", point, dx: 0, dy: 0, label: "Add a point", done: true };
      this.host.changed("Add a point", true);
    }
    this.plane.redraw();
  }

  moved(event) {
    if (this.gesture && event.pointerId !== this.finger) return;
    const [px, py] = this.plane.pixel(event);
    const { frame } = this.plane;
    const { gesture } = this;
    if (!gesture) {
      const point = this.nearest(px, py, reachOf(event));
      this.plane.canvas.style.cursor = this.host.tool() === "erase" ? "not-allowed" : point ? "grab" : "crosshair";
      this.point({ x: frame.x(px), y: frame.y(py), point });
    } else if (gesture.kind === "pan") {
      this.plane.pan((gesture.px - px) / frame.sx, (py - gesture.py) / frame.sy);
      Object.assign(gesture, { px, py, done: true });
    } else if (gesture.kind === "erase") {
      this.rub(this.nearest(px, py, gesture.reach));
    } else {
      this.move(gesture.point, frame.x(px + gesture.dx), frame.y(py + gesture.dy));
      gesture.done = true;
      this.plane.canvas.style.cursor = "grabbing";
      this.point({ x: gesture.point.x, y: gesture.point.y, point: gesture.point });
      this.host.changed(gesture.label, true);
    }
  }

  rub(point) {
    if (!point) return;
    this.host.erase(point);
    this.gesture.erased += 1;
    this.point(null);
    this.host.changed("Erase a point", true);
  }

  up() {
    const { gesture } = this;
    this.gesture = null;
    if (gesture?.kind === "drag" && gesture.done) this.host.changed(gesture.label, false);
    if (gesture?.kind === "erase" && gesture.erased) this.host.changed(gesture.erased > 1 ? "Erase points" : "Erase a point", false);
    if (gesture?.kind === "pan" && gesture.done) this.host.changed("Move the view", false);
  }

  /** A second finger has come: the first one was not about a point. */
  takeBack() {
    const { gesture } = this;
    if (gesture?.kind !== "drag") this.up();
    this.gesture = null;
    this.finger = -1;
    if (gesture?.kind !== "drag" || !gesture.done) return;
    if (gesture.from) Object.assign(gesture.point, gesture.from);
    else this.host.erase(gesture.point);
    this.point(null);
    this.host.changed("", false);
  }

  pinched(factor, [px, py], [qx, qy]) {
    const { frame } = this.plane;
    this.plane.pan((px - qx) / frame.sx, (qy - py) / frame.sy);
    this.plane.zoom(factor, this.plane.frame.x(qx), this.plane.frame.y(qy));
  }

  wheel(event) {
    if (document.documentElement.scrollHeight > window.innerHeight && !event.ctrlKey) return; // it scrolls the page
    event.preventDefault();
    const [px, py] = this.plane.pixel(event);
    const { frame } = this.plane;
    this.plane.zoom(Math.exp(-Math.max(-100, Math.min(100, event.deltaY)) / 400), frame.x(px), frame.y(py));
  }

  // ---- keyboard -----------------------------------------------------------------------------------------------------

  key(event) {
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const act = { Enter: "enter", " ": "take", Delete: "remove", Backspace: "remove", n: "next", p: "previous", Escape: "leave" }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (!arrow && !act)) return;
    if (act === "leave" && !this.cursor) return;
    event.preventDefault();
    const { frame } = this.plane;
    this.cursor ??= { x: frame.cx, y: frame.cy };
    if (arrow) this.walk(arrow, event.shiftKey ? 5 * STEP : STEP);
    else this[act]();
    if (this.cursor) this.point({ ...this.cursor, point: this.held ?? this.under() });
  }

  under() {
    const { frame } = this.plane;
    return this.cursor && this.nearest(frame.px(this.cursor.x), frame.py(this.cursor.y), 14);
  }

  walk([dx, dy], pixels) {
    const { frame } = this.plane;
    const { x0, x1, y0, y1 } = frame.view;
    this.cursor = {
      x: Math.max(x0, Math.min(x1, this.cursor.x + (dx * pixels) / frame.sx)),
      y: Math.max(y0, Math.min(y1, this.cursor.y + (dy * pixels) / frame.sy)),
    };
    if (!this.held) return;
    this.move(this.held, this.cursor.x, this.cursor.y);
    this.host.changed("Move a point", true);
  }

  enter() {
    if (this.held) this.take();
    else if (this.host.add(round(this.cursor.x, this.plane), round(this.cursor.y, this.plane))) this.host.changed("Add a point", false);
  }

  take() {
    if (this.held) {
      this.held = null;
      this.host.changed("Move a point", false);
      this.host.say("Dropped");
      return;
    }
    this.held = this.under();
    if (this.held) this.cursor = { x: this.held.x, y: this.held.y };
    this.host.say(this.held ? "Taken: arrow keys move it, Space drops it" : "There is no point under the cursor");
  }

  remove() {
    const point = this.held ?? this.under();
    if (!point) return;
    this.held = null;
    this.host.erase(point);
    this.host.changed("Erase a point", false);
  }

  next(step = 1) {
    const points = this.host.points();
    if (!points.length) return;
    const at = points.indexOf(this.under());
    const point = points[at < 0 ? (step > 0 ? 0 : points.length - 1) : (at + step + points.length) % points.length];
    this.held = null;
    this.cursor = { x: point.x, y: point.y };
  }

  previous() {
    this.next(-1);
  }

  leave() {
    if (this.held) this.take();
    this.cursor = null;
    this.point(null);
  }

  /** A layer: the cursor of the keyboard. */
  paintCursor(g, frame, palette) {
    if (!this.cursor) return;
    const [x, y] = [frame.px(this.cursor.x), frame.py(this.cursor.y)];
    for (const [colour, width] of [[palette.plane, 5], [this.held ? palette.warn : palette.ink, 2]]) {
      g.strokeStyle = colour;
      g.lineWidth = width;
      g.beginPath();
      for (const [u, v] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        g.moveTo(x + 10 * u, y + 10 * v);
        g.lineTo(x + 22 * u, y + 22 * v);
      }
      g.stroke();
    }
  }
}

/** As many digits as the screen can show: short links, and the same point after they are opened. */
function round(value, plane) {
  const digits = Math.max(0, Math.ceil(Math.log10(plane.frame.sx)) + 1);
  return Number(value.toFixed(Math.min(12, digits)));
}
