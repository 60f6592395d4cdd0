/**
 * Training and test: a third of the points is held out, noise moves the points, and a curve shows both errors along C or
 * the width of the kernel. The tab also asks here whether colours mean probabilities.
 */

import { check, choice, slider } from "../controls.js";
import { el, setText } from "../dom.js";
import { asking, latest } from "../latest.js";
import { sigmaOf } from "../model.js";
import { halo, sharp } from "../plot.js";

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
      { value: "gamma", title: "Error along σ, the width of the Gaussian", content: ["σ"] },
    ],
    onchange: () => ask(),
  });
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
    const places = answer.values.filter((_, k) => answer.test[k] === best).map((value) => Number((answer.over === "C" ? value : sigmaOf(value)).toPrecision(2)));
    const [low, high] = [Math.min(...places), Math.max(...places)];
    const name = answer.over === "C" ? "C" : "σ";
    tell(answer, `The test error is smallest, ${percent(best)}, ${low === high ? `at ${name} = ${low}` : `at ${places.length} values of ${name} from ${low} to ${high}`}.`);
  }

  function tell(answer, text) {
    shown = answer;
    setText(words, text);
    canvas.setAttribute("aria-label", `Training and test error. ${text}`);
    paint();
  }

  function paint() {
    const found = root.open && sharp(canvas);
    if (!found) return;
    const { g, width, height } = found;
    const palette = ctx.palette();
    const { rem } = ctx.settings;
    g.fillStyle = palette.plane;
    g.fillRect(0, 0, width, height);
    if (!shown?.values.length) return;
    const inC = shown.over === "C";
    const where = (value) => Math.log10(inC ? value : sigmaOf(value));
    const ends = [where(shown.values[0]), where(shown.values.at(-1))].sort((a, b) => a - b);
    const high = Math.max(0.1, Math.ceil(10 * Math.max(...shown.train, ...(shown.test ?? []))) / 10);
    const px = (u) => 2.6 * rem + ((width - 3.4 * rem) * (u - ends[0])) / (ends[1] - ends[0]);
    const py = (share) => height - 1.7 * rem - ((height - 2.8 * rem) * share) / high;
    const rule = (x0, y0, x1, y1) => {
      g.beginPath();
      g.moveTo(x0, y0);
      g.lineTo(x1, y1);
      g.stroke();
    };
    g.font = `${0.75 * rem}px system-ui, sans-serif`;
    g.lineWidth = 1;
    g.strokeStyle = palette.line;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (const share of [0, high / 2, high]) {
      rule(px(ends[0]), py(share), px(ends[1]), py(share));
      halo(g, palette, `${Math.round(100 * share)} %`, px(ends[0]) - 0.3 * rem, py(share));
    }
    g.textAlign = "center";
    for (let u = Math.ceil(ends[0]); u <= ends[1] && px(u) < width - 2.4 * rem; u++) halo(g, palette, String(Number((10 ** u).toPrecision(1))), px(u), height - 0.9 * rem);
    halo(g, palette, inC ? "C" : "σ", width - 0.7 * rem, height - 0.9 * rem, palette.ink);
    const now = inC ? model.C : model.kernel.gamma;
    if (Number.isFinite(now) && where(now) >= ends[0] && where(now) <= ends[1]) {
      g.strokeStyle = palette.muted;
      g.setLineDash([2, 3]);
      rule(px(where(now)), py(0), px(where(now)), py(high));
    }
    g.textAlign = "left";
    for (const [k, [name, shares, colour, dash]] of [["training error", shown.train, palette.ink, [6, 4]], ["test error", shown.test, palette.warn, []]].entries()) {
      if (!shares) continue;
      g.strokeStyle = colour;
      g.lineWidth = 2.5;
      g.setLineDash(dash);
      g.beginPath();
      shares.forEach((share, i) => g[i ? "lineTo" : "moveTo"](px(where(shown.values[i])), py(share)));
      g.stroke();
      rule(px(ends[0]) + 8 * rem * k, 0.6 * rem, px(ends[0]) + 8 * rem * k + 1.6 * rem, 0.6 * rem);
      g.setLineDash([]);
      halo(g, palette, name, px(ends[0]) + 8 * rem * k + 2 * rem, 0.6 * rem, colour);
    }
  }

  root.addEventListener("toggle", ask);
  ctx.onSettings(paint);
  return {
    root,
    /** The tab's newest request, or null of one class: the curve follows it, at rest. */
    follow(request) {
      wanted = request;
      root.hidden = !request;
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
