/** One solver on the screen: its name and step, the plane, the charts and the sentence of the frame. */

import { el, fitWords, setText, short } from "../dom.js";
import { Plane, sharp } from "../plot.js";
import { frameUnder, paintCharts } from "./charts.js";
import { layersOf } from "./picture.js";
import { SetEditor } from "./pointset.js";
import { COARSE, between } from "./run.js";
import { solverOf } from "./solvers.js";

/** How the length of a step is called. */
const LENGTHS = { smo: "d", coordinate_descent: "d", active_set: "t", barrier: "t", newton: "t", subgradient: "η", pegasos: "η" };

/** 2nd, 4th, 8th, 11th, 32nd. */
const ordinal = (n) => n + ((n % 100 > 10 && n % 100 < 14 ? "" : { 1: "st", 2: "nd", 3: "rd" }[n % 10]) || "th");

export class Pane {
  /**
   * @param {any} ctx
   * @param {{label: string, box: any, editor: any, points: () => import("../points.js").Point[], onView: (pane: Pane) => void,
   *          seek: (pane: Pane, k: number) => void, hovered: (point: any) => void}} host
   */
  constructor(ctx, host) {
    this.ctx = ctx;
    this.host = host;
    this.run = /** @type {import("./run.js").Run|null} */ (null);
    this.k = this.from = 0;
    this.t = 1;
    this.grid = /** @type {any} */ (null);
    this.hover = null;
    this.canvas = el("canvas", { role: "application", "aria-label": `Plane of the points, ${host.label}. Choose a class to add points with the keyboard.` });
    this.charts = el("canvas", { class: "charts", role: "img", "aria-label": `Curves of the objectives, ${host.label}` });
    this.heading = el("h2", { class: "solver" });
    this.place = el("span", { class: "place" });
    this.note = el("p", { class: "sentence", "aria-live": "polite", tabindex: 0 });
    this.hint = el("div", { class: "hint", hidden: true });
    this.root = el(
      "section",
      { class: "pane", "aria-label": host.label },
      el("div", { class: "title" }, this.heading, this.place),
      el("div", { class: "plot" }, this.canvas, this.hint),
      el("div", { class: "plot" }, this.charts),
      this.note,
    );
    this.plane = new Plane(this.canvas, { ctx, box: host.box, onView: () => host.onView(this) });
    this.editor = new SetEditor(this.plane, { ...host.editor, hovered: (at) => host.hovered(at?.point ?? null) });
    this.plane.layers = [...layersOf(() => this.scene), (g, frame, palette) => g.canvas === this.canvas && this.editor.paintCursor(g, frame, palette)];
    new ResizeObserver(() => this.paintCharts()).observe(this.charts);
    for (const words of [this.note, this.place]) new ResizeObserver(() => fitWords(words)).observe(words);
    ctx.onSettings(() => this.paintCharts());
    const seek = (event) => {
      const found = event.buttons === 1 && this.run ? frameUnder(this.run, this.chartSize, event.offsetX, event.offsetY) : null;
      if (found !== null) host.seek(this, found);
    };
    this.charts.addEventListener("pointerdown", seek);
    this.charts.addEventListener("pointermove", seek);
  }

  /** @returns {import("./picture.js").Scene} */
  get scene() {
    const points = this.host.points();
    const run = this.run?.frames[0].alpha.length === points.length ? this.run : null; // a point was added just now
    const { k, from, t, hover } = this;
    return { run, k, from, t, grid: this.grid, points, hover };
  }

  get chartSize() {
    return { width: this.charts.clientWidth, height: this.charts.clientHeight, rem: this.ctx.settings.rem };
  }

  /** A run, or the sentence why there is none. @param {import("./run.js").Run|null} run */
  load(run, solver, sentence = "") {
    this.run = run;
    this.k = this.from = 0;
    if (!run) this.grid = null;
    setText(this.heading, solverOf(solver)?.title ?? "");
    this.tell(sentence);
    if (!run) {
      setText(this.note, "");
      setText(this.place, "");
      this.paint();
    }
  }

  /** What is on the plane in the place of a picture. */
  tell(sentence) {
    this.hint.hidden = !sentence;
    setText(this.hint, sentence);
  }

  /** Shows what is t of the way from one frame to another. */
  show(from, k, t) {
    if (!this.run) return;
    Object.assign(this, { from, k, t });
    const { view } = this.plane.frame;
    const now = this.run.grid(k, view) ?? this.run.grid(k, view, COARSE);
    const before = t < 1 ? this.run.grid(from, view) : null;
    if (now) this.grid = between(before, now, t);
    this.words();
    this.paint();
  }

  words() {
    const { frames, last, answer } = this.run;
    const frame = frames[this.k];
    const sign = LENGTHS[this.run.solver];
    const parts = [`step ${frame.iteration.toLocaleString("en")} of ${answer.steps.toLocaleString("en")}`];
    const stride = this.k < last ? frames[this.k + 1].iteration - frame.iteration : 1;
    if (stride > 1) parts.push(`every ${ordinal(stride)} step from here`);
    if (sign && frame.step !== null) parts.push(`${sign} = ${short(frame.step)}`);
    if (frame.mu !== undefined) parts.push(`μ = ${short(frame.mu)}`);
    if (frame.mistakes !== undefined) parts.push(`${frame.mistakes.toLocaleString("en")} mistake${frame.mistakes === 1 ? "" : "s"}`);
    setText(this.place, parts.join(", "));
    setText(this.note, this.k === last ? `${frame.note} ${answer.ended}` : frame.note);
    fitWords(this.note);
    fitWords(this.place);
  }

  /** While it plays, screen readers are spared. */
  set playing(on) {
    this.note.setAttribute("aria-live", on ? "off" : "polite");
  }

  paint() {
    this.plane.redraw();
    this.paintCharts();
  }

  paintCharts() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      const found = sharp(this.charts);
      if (found) paintCharts(found.g, this.chartSize, this.ctx.palette(), this.scene);
    });
  }

  /** Plane and charts on another canvas, each in its area. @param {CanvasRenderingContext2D} g */
  paintOn(g, plane, charts, rem) {
    const palette = this.ctx.palette();
    const inside = ({ x, y, w, h }, paint) => {
      g.save();
      g.translate(x, y);
      g.beginPath();
      g.rect(0, 0, w, h);
      g.clip();
      paint(w, h);
      g.restore();
    };
    inside(plane, (w, h) => this.plane.paintWithin(g, w, h, rem));
    inside(charts, (width, height) => paintCharts(g, { width, height, rem }, palette, this.scene));
  }
}
