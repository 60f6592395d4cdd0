/** The controls beside the plane of Classify. They change `model` and tell the tab: changed(label, live). */

import { choice, createErrors, examples, group, select } from "../controls.js";
import { button, el } from "../dom.js";
import { createMachineControls } from "../machine.js";
import { icon, shapePart } from "../markers.js";
import { CLASSES } from "./state.js";

/**
 * @param {{model: any, options: any, presets: any[],
 *          on: {changed: (label: string, live: boolean) => void, preset: (preset: any) => void, random: () => void,
 *               paste: () => void, clear: () => void, brush: (k: number|"erase") => void}}} given
 */
export function createPanel({ model, options, presets, on }) {
  const brush = choice({
    label: "A press on the plane",
    className: "swatches",
    choices: [
      ...Array.from({ length: CLASSES }, (_, k) => ({ value: k, title: `Add points of class ${k + 1} (key ${k + 1}), or move any`, content: [icon(shapePart(k))] })),
      { value: "erase", title: "Erase points (key e)", content: ["Erase"] },
    ],
    onchange: on.brush,
  });
  const example = examples(presets, on.preset);
  const buttons = el(
    "div",
    { class: "row even" },
    button("Random", "Points of all classes in use, drawn at random (key r)", on.random),
    button("Paste …", "Paste a table of points", on.paste),
    button("Clear", "Erase all points (undo brings them back)", on.clear),
  );
  const machine = createMachineControls({ model, options, changed: on.changed });
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

  return {
    root: [
      group("Points", brush.root, example.root, buttons),
      group("Machine", machine.kernel, machine.formula, ...machine.numbers, solver.root, multiclass.root),
    ],
    /** Shows the model in all controls. */
    refresh() {
      brush.value = model.tool === "erase" ? "erase" : model.brush;
      machine.refresh();
      solver.value = model.solver;
      multiclass.value = model.multiclass;
    },
    /** Whether there are several classes to have a scheme for. */
    several(on) {
      multiclass.enable(on);
    },
    /** @param {string} id of the example on the screen, or "" */
    set example(id) {
      example.value = id;
    },
    error: createErrors({ ...machine.fields, solver, multiclass }),
  };
}
