/** The figures of the present frames, beside those of the exact solution. */

import { el, setText, short } from "../dom.js";
import { solverOf } from "./solvers.js";

const ROWS = [
  ["primal", "primal objective"],
  ["dual", "dual objective"],
  ["gap", "gap"],
  ["violation", "violation"],
  ["n_support", "α above 0"],
  ["errors", "wrong side"],
];

export function createNumbers() {
  const table = el("table", { class: "figures" });
  const note = el("p", { class: "note", hidden: true });
  const root = el("section", { class: "comment", "aria-label": "Figures" }, note, el("h2", { class: "heading" }, "This step, and the solution"), table);
  let shape = "";
  let cells = /** @type {HTMLElement[][]} */ ([]);

  function build(names) {
    cells = ROWS.map(() => Array.from({ length: names.length + 1 }, () => el("td")));
    const head = el("tr", {}, el("td"), ...names.map((name) => el("th", { scope: "col" }, name)), el("th", { scope: "col" }, "exact"));
    table.replaceChildren(head, ...ROWS.map(([, words], k) => el("tr", {}, el("th", { scope: "row" }, words), ...cells[k])));
  }

  return {
    root,
    /** What to look at in an example. */
    note(text) {
      note.hidden = !text;
      setText(note, text);
    },
    /** @param {{run: import("./run.js").Run, k: number}[]} shown */
    show(shown) {
      const names = shown.map(({ run }) => solverOf(run.solver)?.title ?? "");
      if (shape !== JSON.stringify(names)) build(names);
      shape = JSON.stringify(names);
      table.hidden = shown.length === 0;
      ROWS.forEach(([key], j) => {
        shown.forEach(({ run, k }, c) => setText(cells[j][c], short(run.frames[k][key], 4)));
        // two solvers may have two problems (with and without intercept): the solution is that of the first
        const own = shown[0]?.run.solver === "perceptron" && !["n_support", "errors"].includes(key); // its loss is another one than the SVM's
        setText(cells[j][shown.length], short(own ? null : (shown[0]?.run.answer.final[key] ?? null), 4));
      });
    },
  };
}
