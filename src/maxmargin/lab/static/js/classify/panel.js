/** The controls beside the plane of Classify. They change `model` and tell the tab: changed(label, live). */

import { choice, select, slider } from "../controls.js";
import { el, setText, short } from "../dom.js";
import { icon, shapePart } from "../markers.js";
import { CLASSES } from "./state.js";

const PARAMETERS = { gamma: "Gamma γ", degree: "Degree", coef0: "Offset c" };
const SIGNS = [["gamma", "γ"], ["coef0", "c"], ["degree", "d"], ["^2", "²"], ["^d", "ᵈ"], ["x'z", "x·z"], ["-γ", "−γ"], ["exp(-", "exp(−"], ["x - z", "x − z"], ["_1", "₁"]];

/**
 * @param {{model: any, options: any, presets: any[],
 *          on: {changed: (label: string, live: boolean) => void, preset: (preset: any) => void, random: () => void,
 *               paste: () => void, clear: () => void, brush: (k: number|"erase") => void}}} given
 */
export function createPanel({ model, options, presets, on }) {
  const kernelOf = () => options.kernels.find((item) => item.name === model.kernel.name);

  const brush = choice({
    label: "A press on the plane",
    className: "swatches",
    choices: [
      ...Array.from({ length: CLASSES }, (_, k) => ({ value: k, title: `Add points of class ${k + 1} (key ${k + 1}), or move any`, content: [icon(shapePart(k))] })),
      { value: "erase", title: "Erase points (key e)", content: ["Erase"] },
    ],
    onchange: on.brush,
  });
  const preset = select({
    label: "Example",
    choices: [["", "choose …"], ...presets.map((item) => [item.id, item.title])],
    onchange: (id) => id && on.preset(presets.find((item) => item.id === id)),
  });
  const buttons = el(
    "div",
    { class: "row even" },
    el("button", { type: "button", onclick: on.random, title: "Points of all classes in use, drawn at random (key r)" }, "Random"),
    el("button", { type: "button", onclick: on.paste, title: "Paste a table of points" }, "Paste …"),
    el("button", { type: "button", onclick: on.clear, title: "Erase all points (undo brings them back)" }, "Clear"),
  );

  const kernel = select({
    label: "Kernel",
    choices: options.kernels.map((item) => [item.name, item.title]),
    onchange: (name) => {
      model.kernel.name = name;
      refresh();
      on.changed("Change the kernel", false);
    },
  });
  const formula = el("div", { class: "formula" });
  const abouts = Object.assign({}, ...options.kernels.map((item) => item.parameters));
  const parameters = Object.entries(abouts).map(([key, about]) => {
    const set = (value, live) => {
      model.kernel[key] = value;
      tellFormula();
      on.changed(`Change ${key}`, live);
    };
    const control = slider({
      label: PARAMETERS[key] ?? key,
      min: about.least,
      max: about.most,
      log: about.scale === "log",
      whole: about.step === 1,
      oninput: (value) => set(value, true),
      onchange: (value) => set(value, false),
    });
    return { key, control };
  });
  const setC = (value, live) => {
    model.C = value;
    on.changed("Change C", live);
  };
  const price = slider({
    label: "C",
    min: Math.max(0.01, options.C.least),
    max: Math.min(1e4, options.C.most),
    log: true,
    infinite: true,
    oninput: (value) => setC(value, true),
    onchange: (value) => setC(value, false),
  });
  const named = (label, key, list, words) =>
    select({
      label,
      choices: list.map((item) => [item.name, item.title]),
      onchange: (value) => {
        model[key] = value;
        on.changed(`Change the ${words}`, false);
      },
    });
  const solver = named("Solver", "solver", options.solvers, "solver");
  const multiclass = named("Classes", "multiclass", options.multiclass, "multiclass scheme");

  let refused = /** @type {any} */ (null); // the control with the server's error
  const fields = { kernel, C: price, solver, multiclass, ...Object.fromEntries(parameters.map(({ key, control }) => [key, control])) };
  const group = (title, ...content) => el("fieldset", {}, el("legend", { class: "heading" }, title), ...content);
  const root = [
    group("Points", brush.root, preset.root, buttons),
    group("Machine", kernel.root, formula, ...parameters.map((p) => p.control.root), price.root, solver.root, multiclass.root),
  ];

  /** The kernel's formula; of a Gaussian also the width that gamma means, gamma = 1 / (2 sigma^2). */
  function tellFormula() {
    const formula_ = SIGNS.reduce((text, [from, to]) => text.replaceAll(from, to), kernelOf().formula);
    setText(formula, model.kernel.name === "rbf" ? `${formula_},  σ = ${short(Math.sqrt(0.5 / model.kernel.gamma))}` : formula_);
  }

  /** Shows the model in all controls. */
  function refresh() {
    brush.value = model.tool === "erase" ? "erase" : model.brush;
    kernel.value = model.kernel.name;
    tellFormula();
    for (const { key, control } of parameters) {
      control.value = model.kernel[key];
      control.enable(key in kernelOf().parameters);
    }
    price.value = model.C;
    solver.value = model.solver;
    multiclass.value = model.multiclass;
  }

  return {
    root,
    refresh,
    /** Whether there are several classes to have a scheme for. */
    several(on) {
      multiclass.enable(on);
    },
    /** No example is the one on the screen any more. */
    unset() {
      preset.value = "";
    },
    set example(id) {
      preset.value = id;
    },
    /** Shows the server's error beside its control, in the place of its last one; true if there is such a control. */
    error(field, sentence) {
      refused?.error();
      refused = fields[field] ?? null;
      refused?.error(sentence);
      return refused !== null;
    },
  };
}
