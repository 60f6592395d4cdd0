/**
 * The plane: a canvas on which data coordinates are painted in layers.
 *
 *     pixel = a (x - cx) + width / 2,    height / 2 - a (y - cy)
 *
 * with one scale a for both axes, so that a margin looks as wide as it is (`equal: false` gives each axis its own).
 * `box` is the part of the plane that must be in sight; the view is the box, made wider or taller to fill the canvas.
 * A layer is a function (g, frame, palette) => void; the frame maps data to pixels. The same layers paint the screen
 * and, on a canvas of another size, the picture that is saved.
 */

/** @typedef {{x0: number, x1: number, y0: number, y1: number}} Box */

const MARGIN_LINE = 1.6; // pixels of f = -1 and +1 at normal text, beside those of f = 0

/** Data coordinates to the pixels of a rectangle, and back. */
export class Frame {
  /** @param {Box} box @param {number} width @param {number} height @param {number} rem @param {boolean} equal */
  constructor(box, width, height, rem, equal = true) {
    this.width = width;
    this.height = height;
    this.rem = rem;
    this.least = 0; // pixels of the thinnest line
    let sx = width / (box.x1 - box.x0);
    let sy = height / (box.y1 - box.y0);
    if (equal) sx = sy = Math.min(sx, sy);
    this.sx = sx;
    this.sy = sy;
    this.cx = (box.x0 + box.x1) / 2;
    this.cy = (box.y0 + box.y1) / 2;
  }

  /** What the canvas shows. @returns {Box} */
  get view() {
    const [dx, dy] = [this.width / 2 / this.sx, this.height / 2 / this.sy];
    return { x0: this.cx - dx, x1: this.cx + dx, y0: this.cy - dy, y1: this.cy + dy };
  }

  /** The width of a line that is `width` pixels at normal text; where thin lines must be wider, thick ones are in proportion. */
  pen(width) {
    return Math.max(this.least, width * Math.max(this.rem / 15, this.least / MARGIN_LINE));
  }

  px(x) {
    return (x - this.cx) * this.sx + this.width / 2;
  }

  py(y) {
    return this.height / 2 - (y - this.cy) * this.sy;
  }

  x(px) {
    return (px - this.width / 2) / this.sx + this.cx;
  }

  y(py) {
    return (this.height / 2 - py) / this.sy + this.cy;
  }
}

/** The context of a canvas with as many pixels as the screen has there, in pixels of CSS; null if it is not on the screen. */
export function sharp(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width || !height) return null;
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { g, width, height };
}

/** A canvas for a picture that is saved, at twice the size of the screen, and a context to paint on it. */
export function sheet(width, height, palette) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: 2 * width, height: 2 * height });
  const g = canvas.getContext("2d");
  g.scale(2, 2);
  g.fillStyle = palette.surface;
  g.fillRect(0, 0, width, height);
  g.textBaseline = "middle";
  return { canvas, g };
}

export class Plane {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{ctx: any, box: Box, equal?: boolean, onView?: () => void}} options
   */
  constructor(canvas, { ctx, box, equal = true, onView }) {
    this.canvas = canvas;
    this.ctx = ctx;
    this.equal = equal;
    this.onView = onView;
    this.layers = /** @type {((g: CanvasRenderingContext2D, frame: Frame, palette: any) => void)[]} */ ([]);
    this.box = box;
    this.frame = new Frame(box, 100, 100, 15, equal);
    this.due = false;
    new ResizeObserver(() => this.fit()).observe(canvas);
    ctx.onSettings(() => this.fit());
  }

  /** Shows another part of the plane. @param {Box} box */
  setBox(box) {
    this.box = box;
    this.fit();
  }

  /** Magnifies about a point of the plane; the factor is above 1 to come nearer. */
  zoom(factor, x = this.frame.cx, y = this.frame.cy) {
    const at = (u, centre) => centre + (u - centre) / factor;
    const { x0, x1, y0, y1 } = this.box;
    const size = Math.max(x1 - x0, y1 - y0) / factor;
    if (size > 1e5 || size < 1e-4) return;
    this.setBox({ x0: at(x0, x), x1: at(x1, x), y0: at(y0, y), y1: at(y1, y) });
  }

  /** Moves the view by data units. */
  pan(dx, dy) {
    const { x0, x1, y0, y1 } = this.box;
    this.setBox({ x0: x0 + dx, x1: x1 + dx, y0: y0 + dy, y1: y1 + dy });
  }

  /** Takes over the size of the element; paints at once, since a resized canvas is empty. */
  fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return; // not on the screen
    const before = JSON.stringify(this.frame.view);
    this.frame = new Frame(this.box, width, height, this.ctx.settings.rem, this.equal);
    this.frame.least = this.ctx.settings.present ? 3 : 0;
    this.paint();
    if (before !== JSON.stringify(this.frame.view)) this.onView?.();
  }

  /** Paints with the next picture of the screen. */
  redraw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.paint();
    });
  }

  paint() {
    const found = sharp(this.canvas);
    if (found) this.paintOn(found.g, this.frame);
  }

  /** What the screen shows and no more, as large as a rectangle allows and in its middle. @param {CanvasRenderingContext2D} g */
  paintWithin(g, width, height, rem) {
    const { frame } = this;
    const scale = Math.min(width / frame.width, height / frame.height);
    const [w, h] = [scale * frame.width, scale * frame.height];
    g.save();
    g.translate((width - w) / 2, (height - h) / 2);
    this.paintOn(g, new Frame(this.box, w, h, rem));
    g.restore();
  }

  /** All layers on any canvas. @param {CanvasRenderingContext2D} g @param {Frame} frame */
  paintOn(g, frame) {
    const palette = this.ctx.palette();
    g.save();
    g.beginPath();
    g.rect(0, 0, frame.width, frame.height);
    g.clip();
    g.fillStyle = palette.plane;
    g.fillRect(0, 0, frame.width, frame.height);
    for (const layer of this.layers) {
      g.save();
      layer(g, frame, palette);
      g.restore();
    }
    g.restore();
  }

  /** Pixels of a pointer event inside the canvas. @returns {[number, number]} */
  pixel(event) {
    const place = this.canvas.getBoundingClientRect();
    return [event.clientX - place.left, event.clientY - place.top];
  }
}

/** Layers that paint a picture's state: functions of (g, frame, palette, picture). */
export const layered = (layers, picture) => layers.map((layer) => (g, frame, palette) => layer(g, frame, palette, picture));

/** The upright line at x. */
export function upright(g, frame, palette, x) {
  const px = Math.round(frame.px(x)) + 0.5;
  g.strokeStyle = palette.accent;
  g.lineWidth = frame.pen(1.5);
  g.beginPath();
  g.moveTo(px, 0);
  g.lineTo(px, frame.height);
  g.stroke();
}

/** A layer: lines at round numbers, with the numbers along the left and the lower edge. */
export function axes(g, frame, palette) {
  const { x0, x1, y0, y1 } = frame.view;
  g.lineWidth = 1;
  g.font = `${0.78 * frame.rem}px system-ui, sans-serif`;
  const lines = (ticks, place, line) => {
    for (const t of ticks) {
      g.strokeStyle = palette.muted;
      g.globalAlpha = t === 0 ? 0.4 : 0.13;
      const at = Math.round(place(t)) + 0.5;
      g.beginPath();
      line(at);
      g.stroke();
    }
    g.globalAlpha = 1;
  };
  const pad = 0.35 * frame.rem;
  const xs = ticks(x0, x1, frame.width / (5.5 * frame.rem));
  const ys = ticks(y0, y1, frame.height / (4.5 * frame.rem));
  lines(xs, (t) => frame.px(t), (at) => (g.moveTo(at, 0), g.lineTo(at, frame.height)));
  lines(ys, (t) => frame.py(t), (at) => (g.moveTo(pad, at), g.lineTo(frame.width, at))); // left of a number a line would be its minus
  g.textAlign = "center";
  g.textBaseline = "bottom";
  for (const t of xs) if (frame.px(t) > 2.5 * frame.rem && frame.px(t) < frame.width - frame.rem) halo(g, palette, label(t), frame.px(t), frame.height - pad);
  g.textAlign = "left";
  g.textBaseline = "middle";
  for (const t of ys) if (frame.py(t) > 0.8 * frame.rem && frame.py(t) < frame.height - 2 * frame.rem) halo(g, palette, label(t), pad, frame.py(t));
}

/** Text that is readable on any colour; `gap`, the pixels by which lines keep away from it, joins its words. */
export function halo(g, palette, text, x, y, colour = palette.muted, gap = 1.5) {
  g.lineWidth = 2 * gap;
  g.lineJoin = "round";
  g.strokeStyle = palette.plane;
  g.strokeText(text, x, y);
  g.fillStyle = colour;
  g.fillText(text, x, y);
}

const label = (t) => String(Number(t.toPrecision(6))).replace("-", "−");

/** Round numbers between lo and hi, about `count` of them. */
export function ticks(lo, hi, count) {
  const raw = (hi - lo) / Math.max(2, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
  const found = [];
  for (let k = Math.ceil(lo / step); k * step <= hi; k++) found.push(k === 0 ? 0 : k * step);
  return found;
}
