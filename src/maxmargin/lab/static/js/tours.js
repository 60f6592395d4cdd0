/**
 * Guided tours: a strip below the page with a text, what to watch, Back and Next; every step brings its own state.
 *
 * A tour is a JSON file {"title", "steps": [{"text", "watch", "at", "state"}, ...]}: `at` is a tab, `state` what a link
 * holds of it, where "example" stands for the points of an example. Three come with the lab; others are opened from a file,
 * and a link holds them.
 */

import { popup } from "./controls.js";
import { byId, el, fileChooser, setText } from "./dom.js";

const TABS = ["classify", "step", "lift", "regress", "digits"];
const MOST_STEPS = 100;
const LONGEST_TEXT = 2000;

/** A tour out of the text of a file; a mistake is an Error that names its line. @param {string} text */
export function parseTour(text) {
  const line = (offset) => text.slice(0, offset).split("\n").length;
  let tour;
  try {
    tour = JSON.parse(text);
  } catch (error) {
    const at = /position (\d+)/.exec(error.message)?.[1];
    throw new Error(`Line ${at ? line(Number(at)) : line(text.length)} of the tour is no JSON: ${error.message.replace(/ in JSON at.*| \(line.*/, "")}.`);
  }
  const wrong = mistake(tour);
  if (wrong) throw new Error(`Line ${wrong.step === null ? 1 : line(starts(text)[wrong.step] ?? 0)} of the tour: ${wrong.sentence}`);
  return tour;
}

/** What is wrong with a tour, in which step; null if nothing. */
export function mistake(tour) {
  const isText = (value) => typeof value === "string" && value.trim() !== "" && value.length <= LONGEST_TEXT;
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isObject(tour) || !isText(tour.title)) return { step: null, sentence: 'give the tour a "title".' };
  if (!Array.isArray(tour.steps) || !tour.steps.length || tour.steps.length > MOST_STEPS) return { step: null, sentence: `"steps" must be a list of 1 to ${MOST_STEPS} steps.` };
  for (const [k, step] of tour.steps.entries()) {
    const say = (sentence) => ({ step: k, sentence: `step ${k + 1} ${sentence}` });
    if (!isObject(step)) return say('must be an object with "text", "at" and "state".');
    if (!isText(step.text)) return say('has no "text".');
    if (step.watch !== undefined && !isText(step.watch)) return say('has a "watch" that is no text.');
    if (!TABS.includes(step.at)) return say(`has "at": ${JSON.stringify(step.at)}; it must be one of ${TABS.join(", ")}.`);
    if (step.state !== undefined && !isObject(step.state)) return say('has a "state" that is no object.');
  }
  return null;
}

/** Where each step begins in the text: the braces one level inside of "steps". */
function starts(text) {
  const found = [];
  let [depth, inText] = [0, false];
  for (let k = 0; k < text.length; k++) {
    if (inText) {
      if (text[k] === "\\") k++;
      else if (text[k] === '"') inText = false;
    } else if (text[k] === '"') inText = true;
    else if ("{[".includes(text[k])) {
      if (depth === 2 && text[k] === "{") found.push(k);
      depth++;
    } else if ("}]".includes(text[k])) depth--;
  }
  return found;
}

/**
 * The menu in the header and the strip.
 * @param {{api: any, go: (at: string, state: any) => void, changed: () => void, toast: (text: string) => void}} page go: shows
 *        a tab in a state; changed: the tour or its step is another one
 */
export function createTours({ api, go, changed, toast }) {
  const strip = byId("tour");
  const title = el("b");
  const text = el("p", { class: "text" });
  const watch = el("p", { class: "watch" });
  const button = (label, run, kind = "") => el("button", { type: "button", class: kind, onclick: run }, label);
  const back = button("Back", () => show(at - 1));
  const next = button("Next", () => (at + 1 < tour.steps.length ? show(at + 1) : end()), "primary");
  const buttons = el("div", { class: "row" }, title, back, next, button("End the tour", end));
  strip.append(el("div", { class: "words", "aria-live": "polite" }, text, watch), buttons);
  let tour = /** @type {any} */ (null);
  let own = []; // those of the lab
  let at = 0;

  const file = fileChooser("A tour file", ".json,application/json", async (chosen) => {
    try {
      start(parseTour(await chosen.text()));
    } catch (error) {
      toast(error.message);
    }
  });
  const list = el("div", { class: "items" });
  const menu = popup("Tours", list);
  byId("tours").append(menu.root, file);
  const item = (label, run) => button(label, () => (menu.close(), run()));

  function refresh() {
    const { steps } = tour;
    setText(title, `${tour.title}, ${at + 1} of ${steps.length}`);
    setText(text, steps[at].text);
    setText(watch, steps[at].watch ?? "");
    back.disabled = at === 0;
    setText(next, at + 1 < steps.length ? "Next" : "Done");
    strip.hidden = false;
  }

  function show(k) {
    at = k;
    refresh();
    go(tour.steps[at].at, tour.steps[at].state ?? {});
    changed();
  }

  function start(found) {
    tour = found;
    show(0);
  }

  function end() {
    tour = null;
    strip.hidden = true;
    changed();
  }

  return {
    async load() {
      own = await api("/api/tours").catch(() => []);
      list.replaceChildren(...own.map((one) => item(one.title, () => start(one))), item("Open a tour file …", () => file.click()));
    },
    /** What a link holds: of a tour of the lab its name, of another one all of it. */
    get state() {
      return tour && { tour: own.includes(tour) ? tour.id : tour, step: at };
    },
    /** The same back, without going anywhere: the rest of the link says what is on the screen. */
    restore(state) {
      const found = own.find((one) => one.id === state?.tour) ?? (state?.tour && !mistake(state.tour) ? state.tour : null);
      tour = found;
      at = found && Number.isInteger(state.step) ? Math.max(0, Math.min(found.steps.length - 1, state.step)) : 0;
      if (tour) refresh();
      else strip.hidden = true;
    },
  };
}
