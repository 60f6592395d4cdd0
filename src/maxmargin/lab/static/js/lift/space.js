/** The canvas of the lifted space: turned by mouse, touch, wheel and keys, zoomed by wheel and two fingers, and turning slowly by itself until the first touch. */

import { watchPinch } from "../pinch.js";
import { sharp } from "../plot.js";
import { Camera } from "./camera.js";
import { paintSpace } from "./paint.js";
import { mix } from "./polygons.js";

const TURN = 0.1; // radians a second by itself
const KEY = 0.09; // radians of an arrow key
const REACH = 14; // pixels from the pointer to a point

export class Space {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{ctx: any, given: () => {scene: any, t: number, show: any, hover: any}, hovered: (point: any) => void,
   *          turned: () => void}} host `turned` after the user has turned it
   */
  constructor(canvas, host) {
    this.canvas = canvas;
    this.host = host;
    this.camera = new Camera();
    this.turning = true; // by itself, until somebody touches it
    this.visible = false;
    this.frame = 0;
    this.last = 0;
    this.drag = /** @type {{x: number, y: number}|null} */ (null);
    new ResizeObserver(() => this.redraw()).observe(canvas);
    host.ctx.onSettings(() => this.redraw());
    canvas.tabIndex = 0;
    const pinch = watchPinch(canvas, { begin: () => this.up(), moved: (factor) => this.zoom(factor), ended: () => host.turned() });
    canvas.addEventListener("pointerdown", (event) => !pinch.active && this.down(event));
    canvas.addEventListener("pointermove", (event) => !pinch.active && this.moved(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => this.up());
    canvas.addEventListener("pointerleave", () => !this.drag && host.hovered(null));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** Whether it turns by itself just now; two lifted dimensions are better read at rest. */
  get alive() {
    return this.turning && this.visible && !this.host.ctx.settings.still && this.host.given().scene?.floor !== 0;
  }

  touch() {
    this.turning = false;
  }

  down(event) {
    this.touch();
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x: event.clientX, y: event.clientY };
    this.canvas.style.cursor = "grabbing";
  }

  moved(event) {
    if (!this.drag) {
      this.host.hovered(this.under(event.offsetX, event.offsetY));
      return;
    }
    const [dx, dy] = [event.clientX - this.drag.x, event.clientY - this.drag.y];
    this.drag = { x: event.clientX, y: event.clientY };
    this.camera.turn((2.6 * dx) / this.canvas.clientWidth, (2.2 * dy) / this.canvas.clientHeight);
    this.redraw();
  }

  up() {
    if (!this.drag) return;
    this.drag = null;
    this.canvas.style.cursor = "";
    this.host.turned();
  }

  wheel(event) {
    event.preventDefault();
    this.zoom(Math.exp(-Math.max(-100, Math.min(100, event.deltaY)) / 500));
    this.host.turned();
  }

  /** Comes nearer where the factor is above 1. */
  zoom(factor) {
    this.touch();
    this.camera.zoom = Math.max(0.6, Math.min(3, this.camera.zoom * factor));
    this.redraw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = event.shiftKey ? 4 * KEY : KEY;
    const turn = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] }[event.key];
    if (!turn) return;
    event.preventDefault();
    this.touch();
    this.camera.turn(turn[0], turn[1]);
    this.redraw();
    this.host.turned();
  }

  /** The point under a place of the canvas. */
  under(px, py) {
    const { scene, t } = this.host.given();
    if (!scene) return null;
    const project = this.camera.look();
    let best = null;
    let least = REACH ** 2;
    for (const { point, flat, lifted } of scene.points) {
      const { x, y } = project(mix(flat, lifted, t));
      const d = (x - px) ** 2 + (y - py) ** 2;
      if (d < least) [best, least] = [point, d];
    }
    return best;
  }

  redraw() {
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.beat(now));
  }

  beat(now) {
    this.frame = 0;
    if (this.alive) {
      this.camera.turn(TURN * Math.min(0.1, (now - this.last) / 1000), 0);
      this.redraw();
    }
    this.last = now;
    this.paint();
  }

  paint() {
    const found = sharp(this.canvas);
    if (found) this.paintOn(found.g, found.width, found.height);
  }

  /** The same on any canvas, with type of any size. */
  paintOn(g, width, height, rem = this.host.ctx.settings.rem) {
    const { ctx } = this.host;
    this.camera.fit(width, height);
    g.save();
    g.beginPath();
    g.rect(0, 0, width, height);
    g.clip();
    paintSpace(g, this.camera, this.host.given(), ctx.palette(), { ...ctx.settings, rem });
    g.restore();
  }
}
