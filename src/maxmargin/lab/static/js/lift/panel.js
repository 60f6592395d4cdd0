/** The controls beside the lifted space: points, map, C, what is shown. They change `model` and tell the tab. */

import { createErrors, group, select, ticks } from "../controls.js";
import { el, setText } from "../dom.js";
import { penaltySlider, widthSlider } from "../model.js";
import { createPointControls } from "../step/pointset.js";
import { MAPS, mapOf } from "./maps.js";

export const SHOWN = { sheet: "the lifted plane", plane: "separating plane", margins: "margins, f = ±1", stems: "stems and shadows" };

/**
 * @param {{ctx: any, model: any, presets: any[],
 *          on: {changed: (label: string, live: boolean) => void, map: (name: string) => void, shown: () => void,
 *               preset: (preset: any) => void, classify: () => void, clear: () => void, tool: (tool: any) => void}}} given
 */
export function createPanel({ ctx, model, presets, on }) {
  const points = createPointControls({ model, presets, on });
  const map = select({ label: "Map", choices: MAPS.map(({ name, title }) => [name, title]), onchange: on.map });
  const formula = el("div", { class: "formula" });
  const setGamma = (value, live) => {
    model.gamma = gamma.value = value;
    on.changed("Change gamma", live);
  };
  const tellFormula = () => setText(formula, mapOf(model.map).formula[ctx.settings.width]);
  const gamma = widthSlider({ ctx, min: 0.01, max: 100, onchange: setGamma, switched: tellFormula });
  const penalty = penaltySlider(model, on.changed);
  for (const control of [map, gamma, penalty]) control.root.dataset.chip = "";
  const shows = ticks(SHOWN, model.show, on.shown);
  shows.root.classList.add("two");

  return {
    roots: [
      points.root,
      group("Lifted space", map.root, formula, gamma.root, penalty.root),
      group("Shown", shows.root),
      el("p", { class: "advice" }, "Drag the space to turn it, and points in the plane beside it to move them."),
    ],
    points,
    /** The fields whose films there are. */
    sweeps: () => [...gamma.root.querySelectorAll(".field"), penalty.root],
    error: createErrors({ C: penalty, gamma, map }),
    refresh() {
      points.refresh();
      map.value = model.map;
      tellFormula();
      gamma.value = model.gamma;
      gamma.visible(mapOf(model.map).gamma);
      penalty.value = model.C;
      shows.refresh();
    },
  };
}
