/** The controls beside the plane of Classify. They change `model` and tell the tab: changed(label, live). */

import { choice, createErrors, group, select, slider } from "../controls.js";
import { button, el } from "../dom.js";
import { createModelControls } from "../model.js";
import { icon, shapePart } from "../markers.js";
import { CLASSES } from "./state.js";

/** Examples as small pictures of their points; `value` is the id of the one on the screen, or "". */
function thumbnails(presets, run) {
  const picture = ({ points }) => icon(...points.map(([x, y, c]) => ["circle", { cx: 11 * x, cy: -11 * y, r: 1.1, class: `fill-${c}` }]));
  const buttons = presets.map((preset) => el("button", { type: "button", title: preset.title, "aria-label": `Example: ${preset.title}`, "data-example": preset.id, onclick: () => run(preset) }, picture(preset)));
  return {
    root: el("div", { class: "thumbnails", role: "group", "aria-label": "Examples" }, ...buttons),
    set value(id) {
      for (const node of buttons) node.setAttribute("aria-pressed", String(node.dataset.example === id));
    },
  };
}

/**
 * @param {{ctx: any, model: any, options: any, presets: any[],
 *          on: {changed: (label: string, live: boolean) => void, preset: (preset: any) => void, random: () => void,
 *               paste: () => void, clear: () => void, brush: (k: number|"erase") => void}}} given
 */
export function createPanel({ ctx, model, options, presets, on }) {
  const brush = choice({
    label: "A press on the plane",
    className: "swatches",
    choices: [
      ...Array.from({ length: CLASSES }, (_, k) => ({ value: k, title: `Add points of class ${k + 1} (key ${k + 1}), or move any`, content: [icon(shapePart(k))] })),
      { value: "erase", title: "Erase points (key e)", content: ["Erase"] },
    ],
    onchange: on.brush,
  });
  const example = thumbnails(presets, on.preset);
  const buttons = el(
    "div",
    { class: "row even" },
    button("Random", "Points of all classes in use, drawn at random (key r)", on.random),
    button("Paste …", "Paste a table of points", on.paste),
    button("Clear", "Erase all points (undo brings them back)", on.clear),
  );
  const controls = createModelControls({ ctx, model, options, changed: on.changed });
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
  const nu = slider({
    label: "Nu ν",
    min: 0.01,
    max: 1,
    onchange: (value, live) => {
      model.nu = value;
      on.changed("Change nu", live);
    },
  });
  const single = (list) => list.length === 1; // there is nothing to choose
  const regions = !ctx.api.local; // of one class, which only the server computes
  const multiclass = named("Classes", "multiclass", options.multiclass, "multiclass scheme");

  return {
    root: [
      group("Points", brush.root, example.root, buttons),
      group("Model", controls.kernel, controls.formula, ...controls.numbers, nu.root, solver.root, multiclass.root),
    ],
    /** Shows the model in all controls. */
    refresh() {
      brush.value = model.tool === "erase" ? "erase" : model.brush;
      controls.refresh();
      solver.value = model.solver;
      multiclass.value = model.multiclass;
      nu.value = model.nu;
    },
    /** Shows what so many classes have: a scheme of more than two, ν in the place of C of one. */
    classes(count) {
      multiclass.root.hidden = count < 3 || single(options.multiclass);
      nu.root.hidden = count !== 1 || !regions;
      if (!nu.root.hidden) nu.root.dataset.chip = "";
      else delete nu.root.dataset.chip;
      controls.fields.C.root.hidden = !nu.root.hidden;
      solver.root.hidden = !nu.root.hidden || single(options.solvers);
    },
    /** @param {string} id of the example on the screen, or "" */
    set example(id) {
      example.value = id;
    },
    /** The fields whose films there are. */
    sweeps: () => [...controls.numbers[0].querySelectorAll(".field"), controls.fields.C.root],
    error: createErrors({ ...controls.fields, solver, multiclass, nu }),
  };
}
