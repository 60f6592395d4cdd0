/** Controls of a model: kernel with its formula and parameters, C. They change `model` and tell: changed(label, live). */

import { choice, select, slider } from "./controls.js";
import { el, setText, short } from "./dom.js";

const PARAMETERS = { degree: "Degree d", coef0: "Offset c" };

/** Formulas of kernels, in gamma and, of the Gaussian, in sigma. */
export const FORMULAS = {
  linear: () => "k(x, z) = x·z",
  poly: () => "k(x, z) = (γ x·z + c)ᵈ",
  rbf: (width) => (width === "sigma" ? "k(x, z) = exp(−|x − z|² / 2σ²)" : "k(x, z) = exp(−γ |x − z|²)"),
  laplacian: () => "k(x, z) = exp(−γ |x − z|₁)",
  sigmoid: () => "k(x, z) = tanh(γ x·z + c)",
  intersection: () => "k(x, z) = Σ min(xⱼ, zⱼ)",
};

export const sigmaOf = (gamma) => Number(Math.sqrt(0.5 / gamma).toPrecision(4));
const gammaOf = (sigma) => Number((0.5 / sigma ** 2).toPrecision(6));

/**
 * The width of Gaussians: one slider, in σ or in γ = 1 / 2σ², and the switch between them, which holds for all tabs.
 * Its value is gamma. @param {{ctx: any, min: number, max: number, sweep?: boolean, onchange: (gamma: number, live: boolean) => void,
 * switched?: () => void}} given the ends of gamma
 */
export function widthSlider({ ctx, min, max, sweep = true, onchange, switched = () => {} }) {
  const gamma = slider({ label: "Gamma γ", min, max, log: true, sweep, onchange });
  const sigma = slider({ label: "Sigma σ", min: sigmaOf(max), max: sigmaOf(min), log: true, sweep, onchange: (value, live) => onchange(gammaOf(value), live) });
  const unit = choice({
    label: "Width given as",
    className: "unit",
    choices: [
      { value: "sigma", title: "Give the width as σ", content: ["σ"] },
      { value: "gamma", title: "Give it as γ = 1 / 2σ²", content: ["γ"] },
    ],
    onchange: (width) => ctx.setWidth(width),
  });
  const other = el("span", { class: "other" });
  const root = el("div", { class: "width" }, sigma.root, gamma.root, el("div", { class: "also" }, unit.root, other));
  let current = min;
  let gaussian = true;

  function show() {
    const inSigma = gaussian && ctx.settings.width === "sigma";
    unit.value = ctx.settings.width;
    unit.root.parentElement.hidden = !gaussian;
    sigma.root.hidden = !inSigma;
    gamma.root.hidden = inSigma;
    setText(other, inSigma ? `γ = 1 / 2σ² = ${short(current)}` : `σ = 1 / √2γ = ${short(sigmaOf(current))}`);
  }

  ctx.onSettings(() => (show(), switched()));
  show();
  return {
    root,
    error: (text) => (sigma.root.hidden ? gamma : sigma).error(text),
    /** @param {boolean} on whether the kernel has a gamma @param {boolean} [isGaussian] whether it means a sigma */
    visible(on, isGaussian = true) {
      root.hidden = !on;
      gaussian = isGaussian;
      show();
    },
    set value(value) {
      current = value;
      gamma.value = value;
      sigma.value = sigmaOf(value);
      show();
    },
  };
}

/** @param {{ctx: any, model: {kernel: any, C: number}, options: any, changed: (label: string, live: boolean) => void}} given */
export function createModelControls({ ctx, model, options, changed }) {
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
  const setter = (key) => (value, live) => {
    model.kernel[key] = value;
    if (key === "gamma") width.value = value;
    changed(`Change ${key}`, live);
  };
  const width = widthSlider({ ctx, min: abouts.gamma.least, max: abouts.gamma.most, onchange: setter("gamma"), switched: tellFormula });
  const parameters = Object.keys(PARAMETERS).map((key) => {
    const { least, most, scale, step } = abouts[key];
    return [key, slider({ label: PARAMETERS[key], min: least, max: most, log: scale === "log", whole: step === 1, onchange: setter(key) })];
  });
  const penalty = penaltySlider(model, changed);
  for (const control of [kernel, width, penalty]) control.root.dataset.chip = "";

  function tellFormula() {
    setText(formula, FORMULAS[model.kernel.name](ctx.settings.width));
  }

  /** Shows the model in all controls, and of these only the ones that its kernel has. */
  function refresh() {
    const has = kernelOf().parameters;
    kernel.value = model.kernel.name;
    tellFormula();
    width.value = model.kernel.gamma;
    width.visible("gamma" in has, model.kernel.name === "rbf");
    for (const [key, control] of parameters) {
      control.value = model.kernel[key];
      control.root.hidden = !(key in has);
    }
    penalty.value = model.C;
  }

  return {
    kernel: kernel.root,
    formula,
    numbers: [width.root, ...parameters.map(([, control]) => control.root), penalty.root],
    refresh,
    /** By the names of the server's requests. */
    fields: { kernel, C: penalty, gamma: width, ...Object.fromEntries(parameters) },
  };
}

/** C from a hundredth to ten thousand, and infinity. */
export function penaltySlider(model, changed) {
  const onchange = (value, live) => {
    model.C = value;
    changed("Change C", live);
  };
  return slider({ label: "C", min: 0.01, max: 1e4, log: true, infinite: true, sweep: true, onchange });
}

/** A kernel with its parameters in words, for captions. @param {any} kernel @param {any} options */
export function kernelWords(kernel, options, width) {
  const { title, parameters } = options.kernels.find((item) => item.name === kernel.name);
  const gamma = kernel.name === "rbf" && width === "sigma" ? `σ = ${short(sigmaOf(kernel.gamma))}` : `γ = ${short(kernel.gamma)}`;
  const words = { gamma, degree: `degree ${kernel.degree}`, coef0: `c = ${short(kernel.coef0)}` };
  return [`${title} kernel`, ...Object.keys(parameters).map((key) => words[key])].join(", ");
}
