/**
 * Guided tours: a strip below the page with a text, what to watch, Back and Next; every step brings its own state.
 *
 * A tour is a JSON file {"title", "steps": [{"text", "watch", "at", "state"}, ...]}: `at` is a tab, `state` what a link
 * holds of it, where "example" stands for the points of an example. Three come with the lab; others are opened from a file,
 * and a link holds them.
 */

import { popup } from "./controls.js";
import { byId, el, fileChooser, setText } from "./dom.js";
import { mistake, parseTour } from "./tourfile.js";

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
  /** After a press by mouse the keys are those of the tab again. */
  const turn = (by) => (event) => {
    if (event.detail) event.currentTarget.blur();
    if (at + by < tour.steps.length) show(at + by);
    else end();
  };
  const back = button("Back", turn(-1));
  const next = button("Next", turn(1), "primary");
  const buttons = el("div", { class: "row" }, title, back, next, button("End the tour", end));
  strip.append(el("div", { class: "words", "aria-live": "polite" }, text, watch), buttons);
  let tour = /** @type {any} */ (null);
  let own = []; // those of the lab
  let examples = /** @type {string[]|undefined} */ (undefined);
  let at = 0;

  const file = fileChooser("A tour file", ".json,application/json", async (chosen) => {
    try {
      start(parseTour(await chosen.text(), examples));
    } catch (error) {
      toast(error.message);
    }
  });
  const list = el("div", { class: "items" });
  const menu = popup("Tours", list);
  byId("tours").append(menu.root, file);
  const item = (label, run) => button(label, (event) => (menu.close(), run(), !event.detail && tour && next.focus()));

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
    if (strip.contains(document.activeElement)) menu.button.focus();
    tour = null;
    strip.hidden = true;
    changed();
  }

  return {
    async load() {
      const [tours, presets] = await Promise.all(["/api/tours", "/api/presets"].map((path) => api(path).catch(() => null)));
      own = tours ?? [];
      examples = presets?.map(({ id }) => id);
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
