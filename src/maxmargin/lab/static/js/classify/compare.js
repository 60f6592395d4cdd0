/** A second plane beside the first: the same points, another kernel, width and C, or the loss that counts errors. */

import { group, select } from "../controls.js";
import { el, fitWords, setText, short } from "../dom.js";
import { asking, latest } from "../latest.js";
import { createModelControls, kernelWords } from "../model.js";
import { Plane } from "../plot.js";
import { countErrors } from "./counting.js";
import { layersOf } from "./picture.js";

const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** The numbers of a model on its plane. */
export function captionOf({ kernel, C }, options, fit, width) {
  const words = [kernelWords(kernel, options, width), `C = ${short(C)}`];
  if (fit?.answer.counted !== undefined) {
    return `counts errors, C = ${short(C)}: margin ${short(fit.answer.margin ?? Infinity)}, ${counted(fit.answer.counted, "point")} inside it or on the wrong side, |w|² + C · ${fit.answer.counted} = ${short(fit.answer.objective)}`;
  }
  if (fit?.answer.kind === "inseparable") words.push("no hard margin exists");
  else if (fit?.answer.kind === "one_class") words.push(`${fit.answer.n_support} support vectors`);
  else if (fit) words.push(`${fit.answer.n_support} support vectors`, `margin ${short(fit.answer.margin)}`, counted(fit.answer.report.errors, "error"));
  if (fit?.answer.test) words.push(counted(fit.answer.test.errors, "test error"));
  return words.join(", ");
}

/**
 * @param {any} ctx
 * @param {{prepare: (answer: any, tag: any) => any, picture: any, changed: (label: string, live: boolean) => void,
 *          main: () => string}} host prepare: an answer made ready to paint; picture: that of the first plane; main: what the
 *        first plane's caption says
 */
export function createCompare(ctx, { prepare, picture, changed, main }) {
  const model = { kernel: /** @type {any} */ ({ name: "linear" }), C: 1, loss: "hinge" };
  const canvas = el("canvas", { role: "img", "aria-label": "The same points with model B" });
  const captions = ["A", "B"].map(() => el("div", { class: "caption", hidden: true }));
  const root = el("div", { class: "plot second", hidden: true }, canvas, captions[1]);
  const plane = new Plane(canvas, { ctx, box: { x0: -1, x1: 1, y0: -1, y1: 1 } });
  const fits = latest(work, { answered, failed: (error) => error.status !== 0 && setText(captions[1], error.message) });
  const place = el("div");
  const loss = select({
    label: "Loss",
    choices: [["hinge", "hinge"], ["count", "count of errors"]],
    onchange: (value) => {
      model.loss = value;
      changed("Change the loss", false);
    },
  });
  let fit = /** @type {any} */ (null);
  let options, controls, box;
  let chips = /** @type {HTMLElement[]} */ ([]); // controls of B that present mode shows while it is on the screen
  plane.layers = layersOf(Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(picture), fit: { get: () => fit } }));

  const fromServer = asking(ctx, "/api/compare");
  const counts = () => model.loss === "count" && model.kernel.name === "linear";

  async function work(request, signal) {
    return counts() ? countErrors(request) : fromServer(request, signal);
  }

  function answered(answer, tag) {
    fit = answer.kind === "empty" ? null : prepare(answer, tag);
    tell();
    plane.redraw();
  }

  function tell() {
    if (root.hidden) return;
    setText(captions[0], `A: ${main()}`);
    setText(captions[1], `B: ${captionOf(model, options, fit, ctx.settings.width)}`);
    for (const caption of captions) fitWords(caption);
  }

  /** Errors are counted by a line only. */
  function refresh() {
    loss.value = model.loss;
    loss.root.hidden = model.kernel.name !== "linear";
  }

  ctx.onSettings(tell);
  return {
    model,
    root,
    plane,
    /** For the first plane, and for the panel. */
    caption: captions[0],
    controls: place,
    tell,
    get on() {
      return !root.hidden;
    },
    get fit() {
      return fit;
    },
    get busy() {
      return fits.busy;
    },
    /** What can be chosen has come. */
    build(given) {
      options = given;
      controls = createModelControls({ ctx, model, options, changed: (...change) => (refresh(), changed(...change)) });
      box = group("Model B", controls.kernel, controls.formula, loss.root, ...controls.numbers);
      chips = [...box.querySelectorAll("[data-chip]")];
      for (const field of chips) delete field.dataset.chip;
    },
    /** What is not as it is at first. */
    get extras() {
      return counts() ? { loss: "count" } : {};
    },
    /** Shows or hides the second plane. @param {boolean} on @param {{kernel: any, C: number, loss?: string}} [settings] of model B */
    set(on, settings) {
      if (settings) Object.assign(model, { kernel: { ...settings.kernel }, C: settings.C, loss: settings.loss === "count" ? "count" : "hinge" });
      controls?.refresh();
      refresh();
      root.hidden = !on;
      place.replaceChildren(...(on ? [box] : [])); // its labels are those of model A: on the page only while they are needed
      for (const caption of captions) caption.hidden = !on;
      for (const field of chips) {
        if (on) field.dataset.chip = "B: ";
        else delete field.dataset.chip;
      }
      root.parentElement?.classList.toggle("two", on);
      if (on) plane.fit();
      else fits.drop();
    },
    /** Asks for model B on the points of a request. */
    ask(request, tag, box, settings) {
      if (root.hidden) return;
      plane.setBox(box);
      plane.redraw();
      fits.ask({ ...request, ...settings }, tag, { yields: !request.live });
    },
  };
}
