/** From flat to lifted: the slider, the button that goes all the way, and the button that turns the space. */

import { el, setText } from "../dom.js";

const LASTS = 1800; // milliseconds from end to end

/**
 * @param {{still: () => boolean, changed: (t: number) => void, done: () => void, turn: () => void}} host
 *        `changed` while it moves, `done` when it rests
 */
export function createMorph(host) {
  let t = 1;
  let goal = 1;
  let frame = 0;
  let last = 0;
  const range = el("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": "From flat to lifted" });
  const button = el("button", { type: "button", class: "primary", title: "From flat to lifted and back (Space)", onclick: toggle });
  const turn = el("button", { type: "button", "aria-pressed": "false", title: "Turn slowly", onclick: host.turn }, "Turn");
  range.addEventListener("input", () => {
    stop();
    set(Number(range.value) / 100);
  });
  range.addEventListener("change", host.done);

  function set(value) {
    t = value;
    if (!frame) goal = value;
    refresh();
    host.changed(eased());
  }

  function refresh() {
    range.value = String(Math.round(100 * t));
    range.setAttribute("aria-valuetext", t === 0 ? "flat" : t === 1 ? "lifted" : `${Math.round(100 * t)} % lifted`);
    setText(button, (frame ? goal : t) < 0.5 ? "Lift" : "Flatten");
  }

  const eased = () => t * t * (3 - 2 * t);

  function stop() {
    cancelAnimationFrame(frame);
    frame = 0;
  }

  function beat(now) {
    const by = Math.min(0.05, (now - last) / LASTS);
    last = now;
    const next = goal > t ? Math.min(goal, t + by) : Math.max(goal, t - by);
    frame = next === goal ? 0 : requestAnimationFrame(beat);
    set(next);
    if (!frame) host.done();
  }

  /** All the way to the other end; at once where the user asked for less motion. */
  function toggle() {
    goal = (frame ? goal : t) < 0.5 ? 1 : 0;
    stop();
    if (host.still()) {
      set(goal);
      host.done();
      return;
    }
    last = performance.now();
    frame = requestAnimationFrame(beat);
    refresh();
  }

  refresh();
  return {
    root: el("div", { class: "morph", role: "toolbar", "aria-label": "Lifting" }, button, el("span", {}, "flat"), range, el("span", {}, "lifted"), turn),
    toggle,
    stop,
    get value() {
      return t;
    },
    set value(value) {
      stop();
      t = goal = value;
      refresh();
      host.changed(eased());
    },
    set turning(on) {
      turn.setAttribute("aria-pressed", String(on));
    },
  };
}
