/** Controls of a machine: kernel with its formula and parameters, C. They change `model` and tell: changed(label, live). */

import { select, slider } from "./controls.js";
import { el, setText, short } from "./dom.js";

const PARAMETERS = { gamma: "Gamma γ", degree: "Degree", coef0: "Offset c" };
const SIGNS = [["gamma", "γ"], ["coef0", "c"], ["degree", "d"], ["^2", "²"], ["^d", "ᵈ"], ["x'z", "x·z"], ["-γ", "−γ"], ["exp(-", "exp(−"], ["x - z", "x − z"], ["_1", "₁"]];

/** @param {{model: {kernel: any, C: number}, options: any, changed: (label: string, live: boolean) => void}} given */
export function createMachineControls({ model, options, changed }) {
  const kernelOf = () => options.kernels.find((item) => item.name === model.kernel.name);
  const kernel = select({
    label: "Kernel",
    choices: options.kernels.map((item) => [item.name, item.title]),
    onchange: (name) => {
      model.kernel.name = name;
      refresh();
      changed("Change the kernel", false);
    },
  });
  const formula = el("div", { class: "formula" });
  const abouts = Object.assign({}, ...options.kernels.map((item) => item.parameters));
  const parameters = Object.entries(abouts).map(([key, { least, most, scale, step }]) => {
    const onchange = (value, live) => {
      model.kernel[key] = value;
      tellFormula();
      changed(`Change ${key}`, live);
    };
    return [key, slider({ label: PARAMETERS[key] ?? key, min: least, max: most, log: scale === "log", whole: step === 1, onchange })];
  });
  const price = priceSlider(model, changed);

  function tellFormula() {
    const text = SIGNS.reduce((found, [from, to]) => found.replaceAll(from, to), kernelOf().formula);
    setText(formula, text + (model.kernel.name === "rbf" ? widthOf(model.kernel.gamma) : ""));
  }

  /** Shows the model in all controls. */
  function refresh() {
    kernel.value = model.kernel.name;
    tellFormula();
    for (const [key, control] of parameters) {
      control.value = model.kernel[key];
      control.enable(key in kernelOf().parameters);
    }
    price.value = model.C;
  }

  return {
    kernel: kernel.root,
    formula,
    numbers: [...parameters.map(([, control]) => control.root), price.root],
    refresh,
    /** By the names of the server's requests. */
    fields: { kernel, C: price, ...Object.fromEntries(parameters) },
  };
}

/** The width that the gamma of a Gaussian means: gamma = 1 / (2 sigma^2). */
export const widthOf = (gamma) => `,  σ = ${short(Math.sqrt(0.5 / gamma))}`;

/** C from a hundredth to ten thousand, and infinity. */
export function priceSlider(model, changed) {
  const onchange = (value, live) => {
    model.C = value;
    changed("Change C", live);
  };
  return slider({ label: "C", min: 0.01, max: 1e4, log: true, infinite: true, onchange });
}
