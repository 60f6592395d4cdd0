/** What Classify says in words: the read-out under the plane, the legend, the comment window, the hint on the plane. */

import { el, setText, short } from "../dom.js";
import { icon, shapePart } from "../markers.js";

const touch = matchMedia("(pointer: coarse)").matches; // no keys then
const CATEGORY = { outside: "outside the margin", on: "on the margin", inside: "inside the margin", misclassified: "on the wrong side" };

export function createReadout() {
  const root = el("div", { class: "readout" });
  const part = (name, value) => el("span", {}, `${name} `, el("b", {}, value));
  return {
    root,
    /**
     * @param {{x: number, y: number}|null} at
     * @param {{point: any, record: any, f: number, label: number|null, probability: number|null}} found
     */
    show(at, { point, record, f, label, probability }) {
      if (!at) {
        root.replaceChildren(el("span", {}, `${touch ? "Touch the plane" : "Move the pointer over the plane"} to read f(x), or ${touch ? "" : "over "}a point to read its α and slack.`));
        return;
      }
      const parts = [part("x", `${short(at.x)}, ${short(at.y)}`)];
      if (record) {
        parts.push(part("f", short(record.f)), part("α", short(record.alpha)), part("slack", short(record.slack)));
        parts.push(part(`class ${point.c + 1}`, CATEGORY[record.category] + (record.support ? ", support vector" : "")));
      } else {
        if (Number.isFinite(f)) parts.push(part("f(x)", short(f)));
        if (label !== null) parts.push(part("predicted class", String(label + 1)));
        if (probability !== null) parts.push(part("probability", short(Math.max(probability, 1 - probability), 2)));
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
  const classes = el("span", { class: "shapes" });
  const tie = el("span", { hidden: true }, icon(["path", { d: "M-10 2 2-10M-8 10 10-8M0 12 12 0", class: "pen" }]), "tie of votes");
  let named = "";
  const entries = Object.entries(CATEGORY).map(([key, words]) => {
    const count = el("b", {}, "0");
    const name = el("span", {}, words);
    return { key, count, name, root: el("span", {}, MARKS[key], name, " ", count) };
  });
  const hollow = el("span", { hidden: true }, icon(["circle", { r: 5, class: "pen" }]), "held out, wrong ", el("b", {}, ""));
  const slack = el("span", {}, icon(["path", { d: "M-10 6 10-6", class: "pen", "stroke-dasharray": "4 3" }]), "slack");
  return {
    root: el("div", { class: "legend" }, el("span", { class: "classes" }, classes, tie, hollow), ...entries.map((entry) => entry.root), slack),
    /** Of one class there is no margin: points are in the region, on its boundary, or not. @param {boolean} on */
    inside(on) {
      const words = on ? { outside: "inside", on: "on the boundary", inside: "", misclassified: "outside" } : CATEGORY;
      for (const { key, name, root } of entries) {
        setText(name, words[key]);
        root.hidden = !words[key];
      }
      if (on) slack.hidden = true;
    },
    /**
     * @param {Iterable<any>|null} records of the points; null where there is no model to have them
     * @param {number[]} present the classes in use @param {boolean} ties whether the votes are equal somewhere @param {any} [test] errors on held-out points
     */
    show(records, present, ties, test) {
      hollow.hidden = !test;
      if (test) setText(hollow.lastElementChild, `${test.errors} of ${test.n}`);
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

/** What came out: the server's lines, the first of them at once, the certificate, progress of long fits. */
export function createComment(cancel) {
  const note = el("p", { class: "note", hidden: true });
  const sentences = el("div", { class: "sentences" });
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
    root: el("section", { class: "comment", "aria-label": "Result" }, el("h2", { class: "heading" }, "Result"), note, busy, alarm, sentences, lines, details),
    /** @param {{lines?: string[], first?: number, certificate?: string, alarm?: string}} texts */
    show(texts) {
      const all = (texts.lines ?? []).map(parts);
      const rest = all.filter(([[tag]], k) => tag === "dt" && k >= (texts.first ?? 5));
      const shown = all.filter((part) => !rest.includes(part)).flat();
      write(sentences, shown.filter(([tag]) => tag === "p"));
      write(lines, shown.filter(([tag]) => tag !== "p"));
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
  const text = line.replace(/class (\d+): (\d+)/g, "class\u00a0$1:\u00a0$2").replace(/^(C +)inf$/, "$1∞ (hard margin)").replace(/^(\S* ?margin.* )inf$/, "$1∞ (w = 0)").replace("sigma", "σ").replace("gamma", "γ");
  const [, name, value] = /^(\S.*?) {2,}(.*)$/.exec(text) ?? [];
  return name ? [["dt", "", name], ["dd", "", value]] : [["p", "", text]];
}

/** Writes them into the list, in place where it already has these rows: while a point moves only numbers change. */
function write(list, rows) {
  const same = rows.length === list.children.length && rows.every(([tag, kind], k) => list.children[k].matches(tag) && list.children[k].className === kind);
  if (same) rows.forEach(([, , text], k) => setText(list.children[k], text));
  else list.replaceChildren(...rows.map(([tag, kind, text]) => el(tag, { class: kind }, text)));
}

/** The numbers on the plane itself, in present mode. */
export function createFigures() {
  const names = ["support vectors", "margin", "errors", "outside", "C", "ν", "test errors"];
  const cells = names.map((name) => ({ name, value: el("b", {}, "–") }));
  return {
    root: el("div", { class: "overlay", "aria-hidden": "true" }, ...cells.map(({ value, name }) => el("span", { hidden: true }, value, name))),
    /** @param {Record<string, number|null|undefined>} numbers by their names; those that are undefined are not shown */
    show(numbers) {
      for (const { name, value } of cells) {
        value.parentElement.hidden = numbers[name] === undefined;
        setText(value, short(numbers[name]));
      }
    },
  };
}

/** What to do next, on the plane itself: how to begin, in the middle, and then, at the lower edge, what is missing. */
export function createHints() {
  const key = el("kbd", {}, "2");
  const second = touch ? ["choose another shape for the second class, or an example"] : ["press ", el("kbd", {}, "2"), " for the second class, or choose an example"];
  const other = touch ? ["Choose another shape and add a point of it"] : ["Press ", key, " and add a point of another class"];
  const begin = el("div", { class: "hint", hidden: true }, el("b", {}, `${touch ? "Tap" : "Click"} in the plane to add a point`), ...second);
  const another = el("div", { class: "hint low", hidden: true }, ...other, ", and the two are separated");
  const now = el("div", { class: "hint low", hidden: true }, `Now ${touch ? "tap" : "click"} to add a point of this class`);
  const followed = el("span", {}, "margin");
  const drag = el("div", { class: "hint low", hidden: true }, el("b", {}, "Drag a point with a ring: the ", followed, " follows"), `${touch ? "tap" : "click"} anywhere to add a point`);
  let [dragged, rings, several] = [false, false, false];
  const invite = () => (drag.hidden = dragged || !several || !rings);
  return {
    roots: [begin, another, now, drag],
    /** @param {boolean} on whether there are rings on the plane */
    ringed(on) {
      rings = on;
      invite();
    },
    /** @param {boolean} moved whether the user is moving or adding points: then nobody need be invited */
    show(points, brush, moved) {
      dragged ||= moved;
      const classes = new Set(points.map((p) => p.c));
      const [only] = classes;
      begin.hidden = points.length > 0;
      another.hidden = classes.size !== 1 || brush !== only;
      now.hidden = classes.size !== 1 || brush === only;
      setText(key, only === 0 ? "2" : "1");
      several = classes.size > 1;
      setText(followed, classes.size > 2 ? "boundary" : "margin"); // only of two classes is the margin drawn
      invite();
    },
  };
}
