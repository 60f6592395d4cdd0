/** What Regression says in words: the read-out, the legend, the numbers of the fit, the hint on the plane. */

import { el, setText, short } from "../dom.js";
import { icon } from "../markers.js";

const LISTED = 60; // coefficients that are shown

export function createReadout() {
  const root = el("div", { class: "readout" });
  const part = (name, value) => el("span", {}, `${name} `, el("b", {}, value));
  return {
    root,
    /**
     * @param {number|null} at @param {number} f
     * @param {{point: any, record: any}} under the point at the cursor, if any
     */
    show(at, f, { point, record }) {
      if (at === null) {
        root.replaceChildren(el("span", {}, "Move the pointer over the plane to read x and f(x), or over a point to read its residual."));
        return;
      }
      const residual = record?.residual ?? NaN;
      const parts = [part("x", short(point ? point.x : at)), part("f(x)", short(record ? point.y - residual : f))];
      if (point) parts.push(part("y", short(point.y)));
      if (record) parts.push(part("y − f(x)", short(residual)));
      if (record?.coefficient !== undefined) parts.push(part(record.name, short(record.coefficient)));
      root.replaceChildren(...parts);
    },
    get text() {
      return [...root.children].map((child) => child.textContent).join(", ");
    },
  };
}

const POINT = ["circle", { r: 5, class: "fill-0" }];

/** All entries are there from the beginning: nothing jumps. */
export function createLegend() {
  const count = el("b", {}, "0");
  const support = el("span", {}, icon(POINT, ["circle", { r: 9.5, class: "pen" }]), "support vectors ", count);
  const tube = el("span", {}, icon(["rect", { x: -10, y: -6, width: 20, height: 12, class: "fill-0", opacity: 0.3 }]), "tube ±ε");
  const word = el("span", {}, "residuals");
  const residual = el("span", {}, icon(["path", { d: "M0-9V9", class: "pen excess" }]), word);
  const entries = [el("span", {}, icon(["path", { d: "M-10 4C-4-12 4 12 10-4", class: "pen" }]), "f(x)"), residual, tube, support];
  return {
    root: el("div", { class: "legend" }, ...entries),
    /** @param {any} fit or null */
    show(fit) {
      for (const entry of [tube, support]) entry.classList.toggle("absent", !fit?.tube);
      setText(word, fit?.tube ? "beyond the tube" : "residuals");
      setText(count, String(fit?.tube ? fit.answer.support.length : 0));
    },
  };
}

/** Training error, condition number (of SVR the offset), coefficients. */
export function createNumbers() {
  const value = () => el("dd", {}, "–");
  const [rmse, other] = [value(), value()];
  const name = el("dt", {}, "condition number");
  const summary = el("summary", {}, "Coefficients");
  const list = el("dl", { class: "coefficients", tabindex: 0, "aria-label": "Coefficients" });
  const details = el("details", { open: true }, summary, list);
  const rows = el("dl", {}, el("dt", {}, "training error"), rmse, name, other);
  return {
    root: el("div", { class: "numbers" }, rows, details),
    /** @param {any} fit or null @param {string[]} names of the coefficients */
    show(fit, names) {
      const answer = fit?.answer;
      setText(rmse, answer ? `${short(answer.rmse, 4)} (root mean square)` : "–");
      setText(name, fit?.tube ? "offset b" : "condition number");
      setText(other, !answer ? "–" : fit.tube ? short(answer.intercept) : answer.condition === null ? "∞ (singular)" : short(answer.condition));
      const all = answer?.coefficients ?? [];
      setText(summary, all.length ? `Coefficients (${all.length})` : "Coefficients");
      const cells = all.slice(0, LISTED).flatMap((c, k) => [["DT", names[k]], ["DD", short(c)]]);
      if (all.length > LISTED) cells.push(["DT", "…"], ["DD", `${all.length - LISTED} more`]);
      const same = cells.length === list.children.length;
      if (same) cells.forEach(([, text], k) => setText(list.children[k], text));
      else list.replaceChildren(...cells.map(([tag, text]) => el(tag, {}, text)));
    },
  };
}

const raised = (digits) => digits.replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(d)]);
const power = (j) => (j === 0 ? "1" : j === 1 ? "x" : `x${raised(String(j))}`);

const GREEK = { lambda: "λ", sigma: "σ", epsilon: "ε", Phi: "Φ" };

/** The server's sentences with the letters that the controls have. @param {string} text */
export function lettered(text) {
  return text
    .replace(/\b(lambda|sigma|epsilon|Phi)\b/g, (name) => GREEK[name])
    .replaceAll("_i", "ᵢ")
    .replaceAll("w'", "wᵀ")
    .replace(/\^(\d+)/g, (_, digits) => raised(digits))
    .replace(/-(?=\d)/g, "−");
}

/** What each coefficient belongs to. @returns {string[]} */
export function coefficientNames({ model, everywhere, centres }, points) {
  if (model === "ridge_poly") return Array.from({ length: 31 }, (_, j) => power(j));
  const xs = points.map((p) => p.x);
  if (model !== "ridge_gauss" || everywhere) return xs.map((x) => `at ${short(x)}`);
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  return Array.from({ length: centres }, (_, j) => `at ${short(centres > 1 ? low + ((high - low) * j) / (centres - 1) : (low + high) / 2)}`);
}

/** How to begin, on the plane itself. */
export function createHint() {
  const touch = matchMedia("(pointer: coarse)").matches;
  const words = el("b", {}, `${touch ? "Tap" : "Click"} in the plane to add a point`);
  const begin = el("div", { class: "hint", hidden: true }, words, "or choose an example");
  const another = el("div", { class: "hint low", hidden: true }, "Support vector regression needs two points: add another one");
  return {
    roots: [begin, another],
    show(points, model) {
      begin.hidden = points.length > 0;
      another.hidden = !(points.length === 1 && model === "svr");
    },
  };
}
