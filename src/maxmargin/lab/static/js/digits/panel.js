/** The model's settings beside the drawing. They change `classifier` and tell the tab: changed(label). */

import { check, createErrors, group, select, slider } from "../controls.js";
import { el, setText } from "../dom.js";
import { FORMULAS, widthSlider } from "../model.js";
import { KERNELS, QUICK, SCHEMES, USES } from "./state.js";

const SLIDERS = {
  degree: { label: "Degree d", min: 1, max: 8, whole: true },
  C: { label: "C", min: 1e-3, max: 1e3, log: true, infinite: true },
};

/** @param {{ctx: any, classifier: any, changed: (label: string) => void}} given */
export function createPanel({ ctx, classifier, changed }) {
  const set = (key, label) => (value, live) => {
    if (live) return; // every other value is another model to train
    classifier[key] = value;
    refresh();
    changed(label);
  };
  const kernel = select({ label: "Kernel", choices: KERNELS, onchange: set("kernel", "Change the kernel") });
  const formula = el("div", { class: "formula" });
  const tellFormula = () => setText(formula, FORMULAS[classifier.kernel](ctx.settings.width));
  const gamma = widthSlider({ ctx, min: 1e-5, max: 0.1, sweep: false, onchange: set("gamma", "Change gamma"), switched: tellFormula });
  const sliders = Object.fromEntries(Object.entries(SLIDERS).map(([key, about]) => [key, slider({ ...about, onchange: set(key, `Change ${key}`) })]));
  const scheme = select({ label: "Classes", choices: SCHEMES, onchange: set("multiclass", "Change the multiclass scheme") });

  for (const control of [kernel, gamma, sliders.C]) control.root.dataset.chip = "";

  function refresh() {
    kernel.value = classifier.kernel;
    scheme.value = classifier.multiclass;
    for (const [key, control] of Object.entries(more)) {
      control.value = classifier[key];
      control.root.hidden = !QUICK.includes(classifier.kernel);
    }
    tellFormula();
    gamma.value = classifier.gamma;
    gamma.visible(USES[classifier.kernel].includes("gamma"), classifier.kernel === "rbf");
    for (const [key, control] of Object.entries(sliders)) {
      control.value = classifier[key];
      control.root.hidden = key !== "C" && !USES[classifier.kernel].includes(key);
    }
  }

  const more = {
    copies: check({ label: "and rotated, scaled, sheared copies", onchange: set("copies", "Train with copies") }),
    pen: check({ label: "and 1,500 digits written by a program", onchange: set("pen", "Train with written digits") }),
  };
  const about = el("p", { class: "about" }, "It learns from the 1,797 handwritten digits of scikit-learn, 8 × 8 pixels each,");
  return {
    root: group("Model", kernel.root, formula, gamma.root, ...Object.values(sliders).map((control) => control.root), scheme.root, about, el("div", { class: "checks" }, ...Object.values(more).map((control) => control.root))),
    refresh,
    error: createErrors({ kernel, multiclass: scheme, gamma, ...sliders }),
  };
}
