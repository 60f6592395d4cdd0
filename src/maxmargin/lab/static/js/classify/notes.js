/** What Classify says in words: the read-out under the plane, the legend, the comment window, the hint on the plane. */

import { el, setText, short } from "../dom.js";
import { icon, shapePart } from "../markers.js";

const CATEGORY = { outside: "outside the margin", on: "on the margin", inside: "inside the margin", misclassified: "on the wrong side" };

export function createReadout() {
  const root = el("div", { class: "readout" });
  const part = (name, value) => el("span", {}, `${name} `, el("b", {}, value));
  return {
    root,
    /**
     * @param {{x: number, y: number}|null} at
     * @param {{point: any, record: any, f: number, label: number|null}} found
     */
    show(at, { point, record, f, label }) {
      if (!at) {
        root.replaceChildren(el("span", {}, "Move the pointer over the plane to read f(x), or over a point to read its α and slack."));
        return;
      }
      const parts = [part("x", `${short(at.x)}, ${short(at.y)}`)];
      if (record) {
        parts.push(part("f", short(record.f)), part("α", short(record.alpha)), part("slack", short(record.slack)));
        parts.push(part(`class ${point.c + 1}`, CATEGORY[record.category] + (record.support ? ", support vector" : "")));
      } else {
        if (Number.isFinite(f)) parts.push(part("f(x)", short(f)));
        if (label !== null) parts.push(part("predicted class", String(label + 1)));
      }
      root.replaceChildren(...parts);
    },
    /** The same as a sentence, for screen readers. */
    get text() {
      return [...root.children].map((child) => child.textContent).join(", ");
    },
  };
}

const CIRCLE = ["circle", { r: 5, class: "fill-none" }];
const MARKS = {
  outside: icon(CIRCLE),
  on: icon(CIRCLE, ["circle", { r: 9.5, class: "pen" }]),
  inside: icon(CIRCLE, ["circle", { r: 9.5, class: "pen", "stroke-dasharray": "4 3" }]),
  misclassified: icon(CIRCLE, ["circle", { r: 9.5, class: "pen", "stroke-dasharray": "4 3" }], ["path", { d: "M-3-3 3 3M-3 3 3-3", class: "pen light" }]),
};

/** Classes with their shapes and colours, then categories with their counts. */
export function createLegend() {
  const classes = el("span", { class: "classes" });
  const tie = el("span", { hidden: true }, icon(["path", { d: "M-10 2 2-10M-8 10 10-8M0 12 12 0", class: "pen" }]), "tie: as many votes for two classes or more");
  let named = "";
  const entries = Object.entries(CATEGORY).map(([key, words]) => {
    const count = el("b", {}, "0");
    return { key, count, root: el("span", {}, MARKS[key], words, " ", count) };
  });
  const slack = el("span", {}, icon(["path", { d: "M-10 6 10-6", class: "pen", "stroke-dasharray": "4 3" }]), "slack");
  return {
    root: el("div", { class: "legend" }, classes, ...entries.map((entry) => entry.root), slack, tie),
    /**
     * @param {Iterable<any>|null} records of the points; null where there is no model to have them
     * @param {number[]} present the classes in use @param {boolean} ties whether the votes are equal somewhere
     */
    show(records, present, ties) {
      tie.hidden = !ties;
      slack.hidden = present.length > 2;
      if (named !== String(present)) {
        named = String(present);
        classes.replaceChildren(...present.map((k) => el("span", {}, icon(shapePart(k)), `class ${k + 1}`)));
      }
      const counts = { outside: 0, on: 0, inside: 0, misclassified: 0 };
      for (const record of records ?? []) counts[record.category] += 1;
      for (const { key, count } of entries) setText(count, records ? String(counts[key]) : "–");
      return counts;
    },
  };
}

const FIRST = 5; // numbers that are always on the screen

/** What came out: the server's lines, the first of them at once, the certificate, progress of long fits. */
export function createComment(cancel) {
  const note = el("p", { class: "note", hidden: true });
  const lines = el("dl");
  const more = el("dl");
  const certificate = el("p", { class: "certificate", hidden: true });
  const details = el("details", { hidden: true }, el("summary", {}, "Details"), more, certificate);
  const alarm = el("p", { class: "alarm", hidden: true, role: "status" });
  const bar = el("progress", { "aria-label": "Progress of the fit" });
  const state = el("span", {});
  const busy = el("div", { class: "busy", hidden: true }, bar, state, el("button", { type: "button", onclick: cancel }, "Cancel"));
  const put = (node, text) => {
    node.hidden = !text;
    setText(node, text ?? "");
  };
  return {
    root: el("section", { class: "comment", "aria-label": "Result" }, el("h2", { class: "heading" }, "Result"), note, busy, alarm, lines, details),
    /** @param {{lines?: string[], certificate?: string, alarm?: string}} texts */
    show(texts) {
      const all = (texts.lines ?? []).map(parts);
      const rest = all.filter(([[tag]], k) => tag === "dt" && k >= FIRST);
      write(lines, all.filter((part) => !rest.includes(part)).flat());
      write(more, rest.flat());
      details.hidden = !rest.length;
      put(certificate, texts.certificate);
      put(alarm, texts.alarm);
    },
    alarm(text) {
      put(alarm, text);
    },
    /** What to look at in an example. */
    note(text) {
      put(note, text);
    },
    /** @param {any|null} progress */
    progress(progress) {
      if (progress && (progress.iteration || busy.hidden)) setText(state, progress.iteration ? `${progress.iteration.toLocaleString("en")} steps, violation ${short(progress.violation, 2)}` : "fitting …");
      busy.hidden = progress === null;
    },
  };
}

/** "margin    0.52" as a name and its value; other lines as they are. No line ends inside of "class 2: 5". */
function parts(line) {
  const text = line.replace(/class (\d+): (\d+)/g, "class\u00a0$1:\u00a0$2").replace(/^(C +)inf$/, "$1∞ (hard margin)").replace("sigma", "σ").replace("gamma", "γ");
  const [, name, value] = /^(\S.*?) {2,}(.*)$/.exec(text) ?? [];
  return name ? [["dt", "", name], ["dd", "", value]] : [["dd", "whole", text]];
}

/** Writes them into the list, in place where it already has these rows: while a point moves only numbers change. */
function write(list, rows) {
  const same = rows.length === list.children.length && rows.every(([tag, kind], k) => list.children[k].matches(tag) && list.children[k].className === kind);
  if (same) rows.forEach(([, , text], k) => setText(list.children[k], text));
  else list.replaceChildren(...rows.map(([tag, kind, text]) => el(tag, { class: kind }, text)));
}

/** Four numbers on the plane itself, in present mode. */
export function createFigures() {
  const cells = ["support vectors", "margin", "errors", "C"].map((name) => ({ value: el("b", {}, "–"), name }));
  return {
    root: el("div", { class: "large", "aria-hidden": "true" }, ...cells.map(({ value, name }) => el("span", {}, value, name))),
    /** @param {(number|null)[]} numbers in this order; null for none */
    show(numbers) {
      cells.forEach(({ value }, k) => setText(value, short(numbers[k] ?? NaN)));
    },
  };
}

/** What to do next, on the plane itself: how to begin, in the middle, and then, at the lower edge, what is missing. */
export function createHints() {
  const touch = matchMedia("(pointer: coarse)").matches; // no keys then
  const key = el("kbd", {}, "2");
  const second = touch ? ["choose another shape for the second class, or an example"] : ["press ", el("kbd", {}, "2"), " for the second class, or choose an example"];
  const other = touch ? ["Choose another shape and add a point of it"] : ["Press ", key, " and add a point of another class"];
  const begin = el("div", { class: "hint", hidden: true }, el("b", {}, `${touch ? "Tap" : "Click"} in the plane to add a point`), ...second);
  const another = el("div", { class: "hint low", hidden: true }, ...other, ": two classes are needed");
  const now = el("div", { class: "hint low", hidden: true }, `Now ${touch ? "tap" : "click"} to add a point of this class`);
  const drag = el("div", { class: "hint low", hidden: true }, el("b", {}, "Drag a point with a ring: the margin follows"), `${touch ? "tap" : "click"} anywhere to add a point`);
  let dragged = false;
  return {
    roots: [begin, another, now, drag],
    /** @param {boolean} moved whether the user is moving or adding points: then nobody need be invited */
    show(points, brush, moved) {
      dragged ||= moved;
      const classes = new Set(points.map((p) => p.c));
      const [only] = classes;
      begin.hidden = points.length > 0;
      another.hidden = classes.size !== 1 || brush !== only;
      now.hidden = classes.size !== 1 || brush === only;
      setText(key, only === 0 ? "2" : "1");
      drag.hidden = dragged || classes.size < 2;
    },
  };
}
