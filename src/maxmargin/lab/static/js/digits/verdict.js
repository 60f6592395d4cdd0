/** What the model makes of the drawing: its 8 x 8 numbers, the answer, ten scores with their votes, and why. */

import { el, setText, short } from "../dom.js";
import { createPixels } from "./pixels.js";

const TOP = 8; // support vectors that the server sends

/** @param {any} ctx */
export function createVerdict(ctx) {
  const seen = createPixels(ctx, el("canvas", { role: "img", "aria-label": "What the model gets: 8 by 8 numbers" }), { numbers: true });
  const digit = el("p", { class: "digit" }, "?");
  const doubt = el("p", { class: "doubt" });
  const rows = Array.from({ length: 10 }, (_, k) => createRow(k));
  const votes = el("span", { class: "votes" }, "votes");
  const head = el("div", { class: "score head", "aria-hidden": "true" }, el("span", {}, "digit"), el("span", {}), el("span", { class: "value" }, "score"), votes);
  const looks = el("section", { class: "looks", "aria-label": "Answer" }, titled("The model gets", seen.canvas), titled("and predicts", el("div", {}, digit, doubt)));
  const scores = el("section", { class: "scores", "aria-label": "Scores" }, head, el("ol", {}, ...rows.map((row) => row.root)));
  const reasons = el("h2", { class: "heading" }, "Support vectors that decide: ", el("i", {}, "for"), " the answer, ", el("i", { class: "against" }, "against"), " it");
  const thumbs = Array.from({ length: TOP }, () => createThumb(ctx));
  const evidence = el("section", { class: "evidence", "aria-label": "Support vectors" }, reasons, el("ul", {}, ...thumbs.map((thumb) => thumb.root)));

  return {
    looks,
    scores,
    evidence,
    /** The model is still learning. */
    busy(on) {
      digit.classList.toggle("learning", on);
    },
    /** @param {any} answer of POST /api/digits, or null */
    show(answer) {
      seen.show(answer?.seen ?? null);
      setText(digit, answer ? String(answer.label) : "?");
      setText(doubt, !answer ? "" : certainty(answer));
      doubt.classList.toggle("doubtful", Boolean(answer) && !answer.sure);
      digit.classList.toggle("nothing", !answer);
      const values = (answer?.scores ?? []).map((value) => value ?? 0);
      const [low, high] = [Math.min(0, ...values), Math.max(1, ...values)];
      votes.classList.toggle("absent", answer !== null && !answer.votes);
      rows.forEach((row, k) => row.show(answer ? { value: values[k], votes: answer.votes?.[k] ?? null, low, high, best: answer.label === k } : null));
      thumbs.forEach((thumb, k) => thumb.show(answer?.support[k] ?? null));
    },
  };
}

/** How sure the answer is; of what resembles no digit there is no share of right answers. */
function certainty({ familiar, sure, probability }) {
  if (!familiar) return "not sure: unlike any digit";
  return sure ? `${Math.min(99, Math.floor(100 * probability))} % sure` : `not sure, ${Math.floor(100 * probability)} %`;
}

const titled = (title, content) => el("div", {}, el("h2", { class: "heading" }, title), content);

/** One digit's bar, from zero to its score. */
function createRow(k) {
  const fill = el("span", { class: "fill" });
  const value = el("span", { class: "value" });
  const votes = el("span", { class: "votes" });
  const root = el("li", { class: "score" }, el("b", {}, String(k)), el("span", { class: "track" }, fill), value, votes);
  return {
    root,
    show(given) {
      root.classList.toggle("best", Boolean(given?.best));
      setText(value, given ? short(given.value) : "");
      setText(votes, given && given.votes !== null ? String(given.votes) : "");
      const { value: score = 0, low = 0, high = 1 } = given ?? {};
      const at = (v) => (100 * (v - low)) / (high - low);
      fill.style.left = `${at(Math.min(0, score))}%`;
      fill.style.width = `${Math.abs(at(score) - at(0))}%`;
    },
  };
}

/** A support vector: its picture, its digit, and how much it spoke for or against the answer. */
function createThumb(ctx) {
  const pixels = createPixels(ctx, el("canvas", { "aria-hidden": "true" }));
  const label = el("b", {});
  const side = el("span", { class: "share" });
  const root = el("li", { class: "thumb" }, pixels.canvas, el("span", { class: "words" }, label, side));
  return {
    root,
    show(given) {
      root.classList.toggle("empty", !given);
      pixels.show(given?.image ?? null);
      root.classList.toggle("against", Boolean(given) && given.contribution < 0);
      setText(label, given ? `${given.label}${given.copy ? (given.copy === "pen" ? " (program)" : " (copy)") : ""}` : "");
      const percent = given && (100 * given.share).toFixed(given.share < 0.0995 ? 1 : 0);
      setText(side, given ? `${given.contribution < 0 ? "against" : "for"} ${percent} %` : "");
      root.title = given ? `Image ${given.index} of ${given.copy === "pen" ? "those that a program wrote" : `the training set${given.copy ? `, ${given.copy}` : ""}`}; it adds ${short(given.contribution)} to the value that decides` : "";
    },
  };
}
