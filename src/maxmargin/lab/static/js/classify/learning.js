/**
 * Training and test: a third of the points is held out, noise moves the points, and a curve shows both errors along C or
 * the width of the kernel. The tab also asks here whether colours mean probabilities.
 */

import { check, choice, slider } from "../controls.js";
import { el, setText } from "../dom.js";
import { asking, latest } from "../latest.js";
import { sigmaOf } from "../model.js";
import { chartOn } from "./chart.js";

const EVERY = 3; // one point of so many of each class is held out
const NOISE_MAX = 0.5; // standard deviation, in units of the plane

/** Which points are held out: every third of each class, in the order of the list. */
export function heldOut(points) {
  const seen = /** @type {Record<number, number>} */ ({});
  return points.filter(({ c }) => (seen[c] = (seen[c] ?? 0) + 1) % EVERY === 0);
}

/** A number between 0 and 1 that looks random, the same for the same k. */
function hashed(k) {
  const s = Math.sin(12.9898 * k + 4.1414) * 43758.5453;
  return s - Math.floor(s);
}

/** Moves all points from one noise to another: point k goes the same way each time. */
export function addNoise(points, from, to) {
  points.forEach((point, k) => {
    const r = Math.sqrt(-2 * Math.log(1 - hashed(2 * k)));
    const t = 2 * Math.PI * hashed(2 * k + 1);
    point.x = Number((point.x + (to - from) * r * Math.cos(t)).toFixed(6));
    point.y = Number((point.y + (to - from) * r * Math.sin(t)).toFixed(6));
  });
}

/** @param {any} ctx @param {any} model @param {(label: string, live: boolean) => void} changed */
export function createLearning(ctx, model, changed) {
  const ticked = (key, label, words) =>
    check({
      label,
      onchange: (on) => {
        model[key] = on;
        changed(words, false);
      },
    });
  const holdout = ticked("holdout", "hold out every third point as a test", "Hold out points");
  const probability = ticked("probability", "colours show the probability of a class", "Show probabilities");
  const noise = slider({
    label: "Noise",
    min: 0,
    max: NOISE_MAX,
    onchange: (value, live) => {
      addNoise(model.points, model.noise, value);
      model.noise = value;
      changed("Change the noise", live);
    },
  });
  const over = choice({
    label: "Error along",
    className: "unit",
    choices: [
      { value: "C", title: "Error along C", content: ["C"] },
      { value: "gamma", title: "Error along the width of the kernel", content: ["width"] },
    ],
    onchange: () => ask(),
  });
  /** The widths of kernels as the page gives them: only that of the Gaussian has a sigma. */
  const inSigma = () => ctx.settings.width === "sigma" && wanted?.kernel.name === "rbf";
  const given = (value) => (shown?.over === "C" || !inSigma() ? value : sigmaOf(value));
  const axisName = () => (shown?.over === "C" ? "C" : inSigma() ? "σ" : "γ");
  const canvas = el("canvas", { role: "img", "aria-label": "Training and test error" });
  const words = el("p", { class: "note" });
  const root = el(
    "details",
    { class: "learning" },
    el("summary", {}, "Training and test"),
    el("div", { class: "checks" }, holdout.root, probability.root),
    noise.root,
    el("div", { class: "row" }, el("span", {}, "Error along"), over.root),
    el("div", { class: "plot" }, canvas),
    words,
  );
  const curves = latest(asking(ctx, "/api/curve"), { answered, failed: (error) => error.status !== 0 && tell(null, error.message) });
  let wanted = /** @type {any} */ (null); // the newest request of the tab
  let asked = "";
  let shown = /** @type {any} */ (null);

  function ask() {
    if (!root.open || !wanted) return;
    const { view, grid, live, probability, ...request } = wanted;
    const axis = over.value === "gamma" && !("gamma" in request.kernel) ? "C" : over.value;
    const question = { ...request, over: axis };
    const key = JSON.stringify({ ...question, ...(axis === "C" ? { C: 0 } : { kernel: { ...request.kernel, gamma: 0 } }) });
    if (key === asked) return paint(); // only the place on the curve is another one
    asked = key;
    curves.ask(question);
  }

  function answered(answer) {
    shown = answer;
    const percent = (share) => `${(100 * share).toFixed(0)} %`;
    if (!answer.test) return tell(answer, "Hold out points to see the test error.");
    const best = Math.min(...answer.test);
    const places = answer.values.filter((_, k) => answer.test[k] === best).map((value) => Number(given(value).toPrecision(2)));
    const [low, high] = [Math.min(...places), Math.max(...places)];
    const name = axisName();
    tell(answer, `The test error is smallest, ${percent(best)}, ${low === high ? `at ${name} = ${low}` : `at ${places.length} values of ${name} from ${low} to ${high}`}.`);
  }

  function tell(answer, text) {
    shown = answer;
    setText(words, text);
    canvas.setAttribute("aria-label", `Training and test error. ${text}`);
    paint();
  }

  function paint() {
    const where = (value) => Math.log10(given(value));
    const some = Boolean(shown?.values.length);
    const ends = some ? [where(shown.values[0]), where(shown.values.at(-1))].sort((a, b) => a - b) : [0, 1];
    const high = some ? Math.max(0.1, Math.ceil(10 * Math.max(...shown.train, ...(shown.test ?? []))) / 10) : 1;
    const chart = root.open && chartOn(canvas, ctx, /** @type {[number, number]} */ (ends), high);
    if (!chart || !some) return;
    const { rem, palette, area, px, py } = chart;
    for (const share of [0, high / 2, high]) {
      chart.curve([[area.left, py(share)], [area.right, py(share)]]);
      chart.word(`${Math.round(100 * share)} %`, area.left - 0.3 * rem, py(share), "right");
    }
    for (let u = Math.ceil(ends[0]); u <= ends[1] && px(u) < area.right - 1.6 * rem; u++) chart.below(String(Number((10 ** u).toPrecision(1))), px(u));
    chart.below(axisName(), area.right + 0.1 * rem, palette.ink);
    const now = where(shown.over === "C" ? model.C : model.kernel.gamma);
    if (now >= ends[0] && now <= ends[1]) chart.curve([[px(now), area.bottom], [px(now), area.top]], palette.muted, 1, [2, 3]);
    const curves = [["training error", shown.train, palette.ink, [6, 4]], ["test error", shown.test, palette.warn, []]];
    for (const [k, [name, shares, colour, dash]] of curves.entries()) {
      if (!shares) continue;
      const x = area.left + 8 * rem * k;
      chart.curve(shares.map((share, i) => [px(where(shown.values[i])), py(share)]), colour, 2.5, dash);
      chart.curve([[x, 0.6 * rem], [x + 1.6 * rem, 0.6 * rem]], colour, 2.5, dash);
      chart.word(name, x + 2 * rem, 0.6 * rem, "left", colour);
    }
  }

  root.addEventListener("toggle", ask);
  ctx.onSettings(() => (shown ? answered(shown) : paint()));
  return {
    root,
    /** The tab's newest request, or null of one class: the curve follows it, at rest. */
    follow(request) {
      wanted = request;
      root.hidden = !request;
      probability.root.hidden = Boolean(ctx.api.local) || new Set(request?.points.map((row) => row[2])).size > 2; // there are none then
      if (request) over.root.parentElement.hidden = !("gamma" in request.kernel); // else C is all there is
      if (!request || request.live) paint();
      else ask();
    },
    /** Shows the model in all controls. */
    refresh() {
      holdout.value = model.holdout;
      probability.value = model.probability;
      noise.value = model.noise;
    },
  };
}
