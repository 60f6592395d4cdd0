/**
 * Light or dark, the size of the text, and the colours that canvases paint with.
 *
 * The colours are those of css/base.css, read from there, so that page and picture cannot disagree.
 */

import { store, stored } from "./state.js";

/** @typedef {{theme: "auto"|"light"|"dark", size: number, width: "sigma"|"gamma", dark: boolean, still: boolean, present: boolean, rem: number}} Settings */
/** @typedef {{classes: string[], plane: string, ink: string, muted: string, gridline: string, line: string,
 *             accent: string, warn: string, surface: string, dark: boolean}} Palette */

export const SHAPES = ["circle", "square", "triangle", "diamond", "wedge", "star"];
const SIZES = [0.85, 1, 1.15, 1.3, 1.5];
const THEMES = /** @type {const} */ (["auto", "light", "dark"]);

export function createTheme() {
  const kept = stored("settings") ?? {};
  /** @type {Settings} */
  const settings = {
    theme: THEMES.includes(kept.theme) ? kept.theme : "auto",
    size: SIZES.includes(kept.size) ? kept.size : 1,
    width: kept.width === "gamma" ? "gamma" : "sigma", // how the width of Gaussians is given
    dark: false, // what auto means just now
    still: false, // the user asked for less motion
    rem: 15, // pixels of one rem, for text on a canvas
    present: false, // the page fills a projector
  };
  const listeners = new Set();
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const prefersStill = matchMedia("(prefers-reduced-motion: reduce)");
  let colours = /** @type {Palette|null} */ (null);

  function apply() {
    settings.dark = settings.theme === "auto" ? prefersDark.matches : settings.theme === "dark";
    settings.still = prefersStill.matches;
    const root = document.documentElement;
    root.dataset.theme = settings.dark ? "dark" : "light";
    root.toggleAttribute("data-present", settings.present);
    root.style.setProperty("--scale", String(settings.size));
    settings.rem = parseFloat(getComputedStyle(root).fontSize);
    root.style.setProperty("--zoom", String(settings.rem / 15));
    colours = null;
    for (const listener of listeners) listener(settings);
  }

  function change(values) {
    Object.assign(settings, values);
    store("settings", { theme: settings.theme, size: settings.size, width: settings.width });
    apply();
  }

  window.addEventListener("resize", () => parseFloat(getComputedStyle(document.documentElement).fontSize) !== settings.rem && apply());
  prefersDark.addEventListener("change", apply);
  prefersStill.addEventListener("change", apply);
  apply();

  return {
    settings,
    /** Calls back after every change of theme, text size or motion. Returns a function that ends that. */
    onSettings(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** The next of auto, light, dark. */
    nextTheme() {
      change({ theme: THEMES[(THEMES.indexOf(settings.theme) + 1) % THEMES.length] });
    },
    /** Larger (+1), smaller (-1) or normal (0) text. */
    resize(step) {
      const at = SIZES.indexOf(settings.size) + step;
      change({ size: step === 0 ? 1 : SIZES[Math.max(0, Math.min(SIZES.length - 1, at))] });
    },
    /** Present mode on or off. */
    setPresent(present) {
      change({ present });
    },
    /** The width of Gaussians is given as "sigma" or "gamma". */
    setWidth(width) {
      change({ width });
    },
    /** @returns {Palette} */
    palette() {
      colours ??= read(settings.dark);
      return colours;
    },
  };
}

function read(dark) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    classes: SHAPES.map((_, k) => colour(`class-${k}`)),
    plane: colour("plane"),
    ink: colour("ink"),
    muted: colour("muted"),
    gridline: colour("gridline"),
    line: colour("line"),
    accent: colour("accent"),
    warn: colour("warn"),
    surface: colour("surface"),
    dark,
  };
}

/** "#rrggbb" as three numbers. @returns {[number, number, number]} */
export function rgb(colour) {
  const n = parseInt(colour.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}
