/** Controls of a machine: kernel, its parameters, C. They change `model` and tell: changed(label, live). */

import { select, slider } from "../controls.js";

const PARAMETERS = { gamma: "Gamma γ", degree: "Degree", coef0: "Offset c" };

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
  const abouts = Object.assign({}, ...options.kernels.map((item) => item.parameters));
  const parameters = Object.entries(abouts).map(([key, about]) => {
    const set = (value, live) => {
      model.kernel[key] = value;
      changed(`Change ${key}`, live);
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
  const price = priceSlider(model, changed);

  function refresh() {
    kernel.value = model.kernel.name;
    for (const { key, control } of parameters) {
      control.value = model.kernel[key];
      control.enable(key in kernelOf().parameters);
    }
    price.value = model.C;
  }

  return {
    roots: [kernel.root, ...parameters.map(({ control }) => control.root), price.root],
    refresh,
    /** By the names of the server's requests. */
    fields: { kernel, C: price, ...Object.fromEntries(parameters.map(({ key, control }) => [key, control])) },
  };
}

/** C from a hundredth to ten thousand, and infinity. */
export function priceSlider(model, changed) {
  const set = (value, live) => {
    model.C = value;
    changed("Change C", live);
  };
  return slider({ label: "C", min: 0.01, max: 1e4, log: true, infinite: true, oninput: (value) => set(value, true), onchange: (value) => set(value, false) });
}

/** Shows the server's errors beside their controls, one at a time. @param {Record<string, any>} fields */
export function createErrors(fields) {
  let refused = /** @type {any} */ (null);
  return (/** @type {string|null} */ field, /** @type {string} */ sentence = "") => {
    refused?.error();
    refused = fields[field ?? ""] ?? null;
    refused?.error(sentence);
    return refused !== null;
  };
}
