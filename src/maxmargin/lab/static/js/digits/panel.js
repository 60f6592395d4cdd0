/** The machine's settings beside the drawing. They change `machine` and tell the tab: changed(label). */

import { createErrors, group, select, slider } from "../controls.js";
import { el, setText } from "../dom.js";
import { widthOf } from "../machine.js";
import { KERNELS, SCHEMES, USES } from "./state.js";

const FORMULAS = {
  rbf: "exp(−γ |x − z|²)",
  poly: "(γ x·z + 1)ᵈ",
  linear: "x·z",
  laplacian: "exp(−γ |x − z|₁)",
  intersection: "Σ min(xⱼ, zⱼ)",
};
const SLIDERS = {
  gamma: { label: "Gamma γ", min: 1e-5, max: 0.1, log: true },
  degree: { label: "Degree d", min: 1, max: 8, whole: true },
  C: { label: "C", min: 1e-3, max: 1e3, log: true, infinite: true },
};

/** @param {{machine: any, changed: (label: string) => void}} given */
export function createPanel({ machine, changed }) {
  const set = (key, label) => (value, live) => {
    if (live) return; // every other value is another machine to train
    machine[key] = value;
    refresh();
    changed(label);
  };
  const kernel = select({ label: "Kernel", choices: KERNELS, onchange: set("kernel", "Change the kernel") });
  const formula = el("div", { class: "formula" });
  const sliders = Object.fromEntries(Object.entries(SLIDERS).map(([key, about]) => [key, slider({ ...about, onchange: set(key, `Change ${key}`) })]));
  const scheme = select({ label: "Classes", choices: SCHEMES, onchange: set("multiclass", "Change the multiclass scheme") });

  function refresh() {
    kernel.value = machine.kernel;
    scheme.value = machine.multiclass;
    setText(formula, FORMULAS[machine.kernel] + (machine.kernel === "rbf" ? widthOf(machine.gamma) : ""));
    for (const [key, control] of Object.entries(sliders)) {
      control.value = machine[key];
      control.enable(key === "C" || USES[machine.kernel].includes(key));
    }
  }

  const about = el("p", { class: "about" }, "Trained on the 1,797 handwritten digits of scikit-learn, 8 × 8 pixels each.");
  return {
    root: group("Machine", kernel.root, formula, ...Object.values(sliders).map((control) => control.root), scheme.root, about),
    refresh,
    error: createErrors({ kernel, multiclass: scheme, ...sliders }),
  };
}
