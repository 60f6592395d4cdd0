/**
 * The points of a tab that shows two classes: the editor on its planes, and the controls for them.
 *
 * With the tool "move" points can be dragged and nothing else: while a run is shown, a stray press must not change it,
 * and the arrow keys belong to the run.
 */

import { choice, examples, group } from "../controls.js";
import { button, el } from "../dom.js";
import { icon, shapePart } from "../markers.js";
import { PointEditor, reachOf } from "../points.js";

/** @typedef {"move"|"erase"|0|1} Tool */

export class SetEditor extends PointEditor {
  /** @param {import("../plot.js").Plane} plane @param {any} host as for PointEditor, whose tool() is a Tool */
  constructor(plane, host) {
    super(plane, { ...host, tool: () => (host.tool() === "erase" ? "erase" : "add") });
    this.chosen = host.tool;
  }

  get moving() {
    return this.chosen() === "move";
  }

  down(event) {
    if (this.moving && !event.shiftKey && event.button !== 1 && !this.nearest(...this.plane.pixel(event), reachOf(event))) return;
    super.down(event);
  }

  moved(event) {
    super.moved(event);
    if (this.moving && !this.gesture && !this.hover) this.plane.canvas.style.cursor = "default";
  }

  key(event) {
    if (!this.moving) super.key(event);
  }
}

/**
 * @param {{model: {tool: Tool}, presets: any[],
 *          on: {preset: (preset: any) => void, classify: () => void, clear: () => void, tool: (tool: Tool) => void}}} given
 */
export function createPointControls({ model, presets, on }) {
  const tool = choice({
    label: "A press on the plane",
    className: "swatches",
    choices: [
      { value: "move", title: "Move points (key m)", content: ["Move"] },
      { value: 0, title: "Add points of class 1 (key 1), or move any", content: [icon(shapePart(0))] },
      { value: 1, title: "Add points of class 2 (key 2), or move any", content: [icon(shapePart(1))] },
      { value: "erase", title: "Erase points (key e)", content: ["Erase"] },
    ],
    onchange: on.tool,
  });
  const example = examples(presets, on.preset);
  const buttons = el(
    "div",
    { class: "row even" },
    button("From Classify", "Take over the points of the tab Classify", on.classify),
    button("Clear", "Erase all points (undo brings them back)", on.clear),
  );
  return {
    root: group("Points", tool.root, example.root, buttons),
    refresh() {
      tool.value = model.tool;
    },
    /** @param {string} id of the example on the screen, or "" */
    set example(id) {
      example.value = id;
    },
    error: example.error,
  };
}
