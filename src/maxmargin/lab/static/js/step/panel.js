/** The controls beside the run: points, model, solvers, export. They change `model` and tell the tab. */

import { choice, createErrors, group, select } from "../controls.js";
import { button, el, fileChooser } from "../dom.js";
import { createModelControls } from "../model.js";
import { createPointControls } from "./pointset.js";
import { SOLVERS } from "./solvers.js";

/**
 * @param {{ctx: any, model: any, options: any, presets: any[],
 *          on: {changed: (label: string, live: boolean) => void, synced: () => void, export: () => void, film: () => void, open: (file: File) => void,
 *               preset: (preset: any) => void, classify: () => void, clear: () => void, tool: (tool: any) => void}}} given
 */
export function createPanel({ ctx, model, options, presets, on }) {
  const points = createPointControls({ model, presets, on });
  const controls = createModelControls({ ctx, model, options, changed: on.changed });
  const named = SOLVERS.filter(({ name }) => !options.traces || options.traces.includes(name)).map(({ name, title, about }) => [name, `${title}: ${about}`]);
  const set = (key, label) => (value) => {
    model[key] = value;
    refresh();
    on.changed(label, false);
  };
  const solver = select({ label: "Solver", choices: named, onchange: set("solver", "Change the solver") });
  const second = select({ label: "Beside it", choices: [["", "none"], ...named], onchange: set("second", "Change the second solver") });
  const sync = choice({
    label: "Two solvers go in step",
    choices: [
      { value: "iteration", title: "by step: both solvers stand at the same step", content: ["by step"] },
      { value: "share", title: "by share of the run: both begin and end together", content: ["by share"] },
    ],
    onchange: (value) => {
      model.sync = value;
      on.synced();
    },
  });
  const again = button("Draw again", "Pegasos draws its points again, in another order", () => set("seed", "Draw again")((model.seed + 1) % 1000));
  const page = button("Web page", "One HTML file that plays this run anywhere, without the server", on.export);
  const chooser = fileChooser("A recorded run", ".html,text/html", on.open);
  const open = button("Open …", "Shows a run that was saved as a web page", () => chooser.click());
  const film = button("Film", "Plays the run once and saves it as a video of 1920 x 1080, with charts and captions", on.film);

  function refresh() {
    points.refresh();
    controls.refresh();
    solver.value = model.solver;
    second.value = model.second;
    sync.value = model.sync;
    sync.root.hidden = !model.second;
    again.hidden = model.solver !== "pegasos" && model.second !== "pegasos";
  }

  return {
    roots: [
      points.root,
      group("Model", controls.kernel, controls.formula, ...controls.numbers),
      group("Solver", solver.root, second.root, sync.root, again),
      group("Save or open a run", el("div", { class: "row even" }, ...(ctx.api.local ? [] : [page]), open, film), chooser),
    ],
    refresh,
    points,
    error: createErrors({ ...controls.fields, solver }),
    set filming(on) {
      film.setAttribute("aria-pressed", String(on));
      film.textContent = on ? "Stop filming" : "Film";
    },
  };
}
