/** The controls beside the lifted space: points, map, C, what is shown. They change `model` and tell the tab. */

import { check, select, slider } from "../controls.js";
import { el, setText } from "../dom.js";
import { createErrors, priceSlider } from "../step/machine.js";
import { createPointControls } from "../step/pointset.js";
import { MAPS, mapOf } from "./maps.js";

export const SHOWN = { sheet: "the lifted plane", plane: "separating plane", margins: "margins, f = ±1", stems: "stems and shadows" };

/**
 * @param {{model: any, presets: any[],
 *          on: {changed: (label: string, live: boolean) => void, map: (name: string) => void, shown: () => void,
 *               preset: (preset: any) => void, classify: () => void, clear: () => void, tool: (tool: any) => void}}} given
 */
export function createPanel({ model, presets, on }) {
  const points = createPointControls({ model, presets, on });
  const map = select({ label: "Map", choices: MAPS.map(({ name, title }) => [name, title]), onchange: on.map });
  const formula = el("div", { class: "formula" });
  const setGamma = (value, live) => {
    model.gamma = value;
    on.changed("Change gamma", live);
  };
  const gamma = slider({ label: "Gamma γ", min: 0.01, max: 100, log: true, oninput: (value) => setGamma(value, true), onchange: (value) => setGamma(value, false) });
  const price = priceSlider(model, on.changed);
  const shows = Object.entries(SHOWN).map(([key, label]) => {
    const box = check({
      label,
      onchange: (value) => {
        model.show[key] = value;
        on.shown();
      },
    });
    return { key, box };
  });
  const group = (title, ...content) => el("fieldset", {}, el("legend", { class: "heading" }, title), ...content);

  return {
    roots: [
      points.root,
      group("Lifted space", map.root, formula, gamma.root, price.root),
      group("Shown", el("div", { class: "checks two" }, ...shows.map(({ box }) => box.root))),
      el("p", { class: "advice" }, "Drag the space to turn it, and points in the plane beside it to move them."),
    ],
    points,
    error: createErrors({ C: price, gamma, map }),
    refresh() {
      points.refresh();
      map.value = model.map;
      setText(formula, mapOf(model.map).formula);
      gamma.value = model.gamma;
      gamma.enable(mapOf(model.map).gamma);
      price.value = model.C;
      for (const { key, box } of shows) box.value = model.show[key];
    },
  };
}
