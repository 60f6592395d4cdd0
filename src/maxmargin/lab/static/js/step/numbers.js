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

const ROUNDING = 1e-12; // of the objective: a gap below it, of either sign, is that of the last digits

/** A number of a frame. */
function figure(frame, key) {
  const value = frame[key];
  return ["gap", "violation"].includes(key) && Math.abs(value) < ROUNDING * Math.max(1, Math.abs(frame.primal)) && value !== null ? 0 : value;
}

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
      // two solvers may have two problems (with and without intercept): the solution is that of the first which has one
      const exact = (shown.find(({ run }) => run.solver !== "perceptron") ?? shown[0])?.run;
      ROWS.forEach(([key], j) => {
        shown.forEach(({ run, k }, c) => setText(cells[j][c], short(figure(run.frames[k], key), 4)));
        const own = exact?.solver === "perceptron" && !["n_support", "errors"].includes(key); // its loss is another one than the SVM's
        setText(cells[j][shown.length], short(own ? null : (exact?.answer.final[key] ?? null), 4));
      });
    },
  };
}
