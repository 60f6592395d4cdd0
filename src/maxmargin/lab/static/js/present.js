/**
 * Present mode, for a projector: the screen belongs to the plane. Type grows with the height of the window, lines are at
 * least three pixels wide (plot.js), and of the panel only kernel, width and C are left, as chips above the plane.
 */

import { popup } from "./controls.js";
import { byId, el, setText } from "./dom.js";

const OFTEN = 200; // milliseconds until a chip shows a value that was changed elsewhere

/** @param {{theme: any, panel: () => HTMLElement|null}} page the panel of the tab on the screen */
export function createPresent({ theme, panel }) {
  const bar = byId("chips");
  let chips = /** @type {{field: HTMLElement, home: Comment, menu: any}[]} */ ([]);
  let timer = 0;

  /** What a chip says: the chosen kernel, or a name and its number. */
  function words(field) {
    const box = field.querySelector("select");
    if (box) return box.selectedOptions[0]?.textContent ?? "";
    const shown = [...field.querySelectorAll(".field")].find((part) => !part.hidden) ?? field;
    return `${shown.querySelector("label").textContent.split(" ").at(-1)} = ${shown.querySelector("input[type=text]").value}`;
  }

  function refresh() {
    if (panel()?.querySelector("[data-chip]")) return fill(); // a tab whose controls came after it was shown
    for (const { field, menu } of chips) {
      menu.root.hidden = field.hidden || field.dataset.chip === undefined;
      if (!menu.root.hidden) setText(menu.button, field.dataset.chip + words(field));
    }
  }

  /** Moves the controls of the tab on the screen into chips. */
  function fill() {
    empty();
    chips = [...(panel()?.querySelectorAll("[data-chip]") ?? [])].map((field) => {
      const home = document.createComment("");
      field.replaceWith(home);
      return { field, home, menu: popup("", field) };
    });
    bar.replaceChildren(...chips.map(({ menu }) => menu.root), leave);
    refresh();
  }

  function empty() {
    for (const { field, home } of chips) home.replaceWith(field);
    chips = [];
    bar.replaceChildren();
  }

  function set(on) {
    if (on === theme.settings.present) return;
    const focused = /** @type {any} */ (document.activeElement);
    const inChips = bar.contains(focused);
    if (on) fill();
    else empty();
    bar.hidden = !on;
    theme.setPresent(on);
    clearInterval(timer);
    if (on) timer = setInterval(refresh, OFTEN);
    // the focus of the keyboard must not be lost with what is hidden
    if (inChips) byId("present").focus();
    else if (focused !== document.body && !focused?.checkVisibility()) panel()?.querySelector("canvas")?.focus();
    if (on) document.documentElement.requestFullscreen?.().catch(() => {}); // a frame may not
    else if (document.fullscreenElement) document.exitFullscreen();
  }

  const leave = el("button", { type: "button", class: "leave", title: "Leave present mode (F)", onclick: () => set(false) }, "Leave");
  document.addEventListener("fullscreenchange", () => !document.fullscreenElement && set(false));
  return {
    toggle: () => set(!theme.settings.present),
    /** Another tab is on the screen. */
    moved: () => theme.settings.present && fill(),
  };
}
