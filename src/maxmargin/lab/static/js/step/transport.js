/** The bar of the player: rewind, back, play, on, to the end, the scrubber and the speed. */

import { el, setText } from "../dom.js";
import { icon } from "../markers.js";
import { SPEEDS } from "./player.js";

const BACK = "M5-6V6L-5 0Z";
const ON = "M-5-6V6L5 0Z";
const sign = (...paths) => icon(...paths.map((d) => ["path", { d }]));
const SPEED_WORDS = { 0.5: "½ step/s" };

/** @param {import("./player.js").Player} player @param {{go: (tick: number) => void, speed: (speed: number) => void}} on */
export function createTransport(player, on) {
  const button = (content, label, run, kind = "icon") => el("button", { type: "button", class: kind, title: label, "aria-label": label, onclick: run }, ...content);
  const rewind = button([sign("M7-6V6L-2 0Z", "M-7-6H-4V6H-7Z")], "To the beginning (Home)", () => on.go(0));
  const back = button([sign(BACK)], "One step back (←)", () => player.step(-1));
  const word = el("span", {}, "Play");
  const signs = [sign(ON), sign("M-6-6H-2V6H-6Z", "M2-6H6V6H2Z")];
  const play = button([...signs, word], "Play (Space)", () => player.toggle(), "primary play");
  const next = button([sign(ON)], "One step on (→)", () => player.step(1));
  const end = button([sign("M-7-6V6L2 0Z", "M4-6H7V6H4Z")], "To the end (End)", () => on.go(player.end));
  const scrub = el("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": "Step of the run", oninput: () => on.go(Number(scrub.value)) });
  const speed = el(
    "select",
    { "aria-label": "Speed", title: "Speed (keys + and −)", onchange: () => on.speed(Number(speed.value)) },
    ...SPEEDS.map((value) => el("option", { value }, SPEED_WORDS[value] ?? `${value} step${value > 1 ? "s" : ""}/s`)),
  );
  return {
    root: el("div", { class: "transport", role: "toolbar", "aria-label": "Player" }, rewind, back, play, next, end, scrub, speed),
    refresh() {
      const { at, end: last, length, playing } = player;
      for (const node of [rewind, back]) node.disabled = at <= 0;
      for (const node of [next, end]) node.disabled = at >= last;
      play.disabled = length < 2;
      scrub.disabled = length < 2;
      setText(word, playing ? "Pause" : "Play");
      signs.forEach((node, k) => node.toggleAttribute("hidden", Boolean(k) !== playing));
      play.setAttribute("aria-label", playing ? "Pause (Space)" : "Play (Space)");
      scrub.max = String(last);
      scrub.value = String(at);
      scrub.setAttribute("aria-valuetext", `step ${player.times[at] ?? 0} of ${player.times[last] ?? 0}`);
      speed.value = String(player.speed);
    },
  };
}

/**
 * Space, arrows, Home and End anywhere on the page of the tab, but not where a key already means something: in a slider, a
 * list, on a button.
 * @param {import("./player.js").Player} player @param {() => boolean} active
 */
export function playerKeys(player, active) {
  const jump = (tick) => {
    player.pause();
    player.go(tick);
  };
  const keys = {
    " ": () => player.toggle(),
    ArrowLeft: () => player.step(-1),
    ArrowRight: () => player.step(1),
    Home: () => jump(0),
    End: () => jump(player.end),
  };
  document.addEventListener("keydown", (event) => {
    if (!active() || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest?.(event.key === " " ? "input, select, textarea, dialog, button" : "input, select, textarea, dialog")) return;
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}
