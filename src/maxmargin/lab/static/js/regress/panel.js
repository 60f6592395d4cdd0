/** The controls beside the plane of Regression. They change `model` and tell the tab: changed(label, live). */

import { check, choice, createErrors, examples, group, select, slider } from "../controls.js";
import { button, el, setText } from "../dom.js";
import { icon } from "../markers.js";
import { widthSlider } from "../model.js";
import { EXAMPLES } from "./examples.js";
import { USES } from "./state.js";

const MODELS = [
  ["ridge_poly", "Ridge, powers of x"],
  ["ridge_gauss", "Ridge, Gaussian bumps"],
  ["kernel_ridge", "Kernel ridge, Gaussian"],
  ["svr", "Support vectors (SVR)"],
];
const FORMULAS = {
  ridge_poly: "f(x) = Σ wⱼ xʲ,  j = 0, …, d",
  ridge_gauss: "f(x) = Σ wⱼ exp(−(x − cⱼ)² / 2σ²)",
  kernel_ridge: "f(x) = Σ cᵢ exp(−(x − xᵢ)² / 2σ²)",
  svr: "f(x) = Σ aᵢ exp(−(x − xᵢ)² / 2σ²) + b",
};
const SLIDERS = {
  degree: { label: "Degree d", min: 0, max: 15, whole: true },
  centres: { label: "Centres", min: 1, max: 40, whole: true },
  lambda: { label: "Lambda λ", min: 1e-9, max: 1e3, log: true },
  C: { label: "C", min: 0.01, max: 1e4, log: true },
  epsilon: { label: "Epsilon ε", min: 0, max: 1 },
};

/**
 * @param {{ctx: any, model: any, on: {changed: (label: string, live: boolean) => void, example: (example: any) => void,
 *          clear: () => void, tool: (tool: "add"|"erase") => void}}} given
 */
export function createPanel({ ctx, model, on }) {
  const tool = choice({
    label: "A press on the plane",
    className: "swatches",
    choices: [
      { value: "add", title: "Add points (key a), or move any", content: [icon(["circle", { r: 7, class: "fill-0" }]), "Add, move"] },
      { value: "erase", title: "Erase points (key e)", content: ["Erase"] },
    ],
    onchange: on.tool,
  });
  const example = examples(EXAMPLES, on.example);
  const clear = button("Clear", "Erase all points (undo brings them back)", on.clear);

  const kind = select({
    label: "Model",
    choices: MODELS,
    onchange: (value) => {
      model.model = value;
      refresh();
      on.changed("Change the model", false);
    },
  });
  const formula = el("div", { class: "formula" });
  const sliders = Object.fromEntries(
    Object.entries(SLIDERS).map(([key, about]) => {
      const onchange = (value, live) => {
        model[key] = value;
        on.changed(`Change ${key}`, live);
      };
      return [key, slider({ ...about, sweep: true, onchange })];
    }),
  );
  const setSigma = (gamma, live) => {
    model.sigma = Number(Math.sqrt(0.5 / gamma).toPrecision(6));
    width.value = gamma;
    on.changed("Change sigma", live);
  };
  const tellFormula = () => setText(formula, ctx.settings.width === "sigma" ? FORMULAS[model.model] : FORMULAS[model.model].replace(/−(\(.*\)²) \/ 2σ²/, "−γ $1"));
  const width = widthSlider({ ctx, min: 0.005, max: 5000, onchange: setSigma, switched: tellFormula });
  const ticked = (key, label, words) =>
    check({
      label,
      onchange: (value) => {
        model[key] = value;
        refresh();
        on.changed(words, false);
      },
    });
  const everywhere = ticked("everywhere", "a bump on every point", "Change the centres");
  const free = ticked("free", "λ = 0, no penalty", "Change lambda");
  const ticks = el("div", { class: "ticks" }, free.root, everywhere.root);

  for (const control of [kind, width, ...Object.values(sliders)]) control.root.dataset.chip = "";
  const knobs = el("div", { class: "knobs" }, width.root, ...Object.values(sliders).map((control) => control.root), ticks);

  /** Shows the model in all controls, and of these only the ones that it has. */
  function refresh() {
    tool.value = model.tool;
    kind.value = model.model;
    tellFormula();
    width.value = 0.5 / model.sigma ** 2;
    width.visible(USES[model.model].includes("sigma"));
    for (const [key, control] of Object.entries(sliders)) {
      control.value = model[key];
      control.root.hidden = !USES[model.model].includes(key);
    }
    everywhere.value = model.everywhere;
    free.value = model.free;
    everywhere.root.hidden = !USES[model.model].includes("centres");
    free.root.hidden = !USES[model.model].includes("lambda");
    sliders.centres.enable(!model.everywhere);
    sliders.lambda.enable(!model.free);
  }

  return {
    root: [group("Points", tool.root, example.root, el("div", { class: "row even" }, clear)), group("Model", kind.root, formula, knobs)],
    refresh,
    /** The fields whose films there are. */
    sweeps: () => knobs.querySelectorAll(".field"),
    /** @param {string} id of the example on the screen, or "" */
    set example(id) {
      example.value = id;
    },
    error: createErrors({ model: kind, sigma: width, ...sliders }),
  };
}
