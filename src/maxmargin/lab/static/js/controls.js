/**
 * Form controls with one shape: each has .root (to place), .value (get and set, silently), .error(text), .enable(on).
 * `onchange(value)` is called when the user has changed it; of a slider also while he does, as onchange(value, true).
 */

import { el, setText, short } from "./dom.js";

let serial = 0;

/** Label, controls and a place for the error. */
function field(label, kind, controls) {
  const id = `field-${++serial}`;
  controls[0].id = id;
  const wrong = el("div", { class: "error", id: `${id}-error`, "aria-live": "polite" });
  const root = el("div", { class: `field ${kind}` }, el("label", { for: id }, label), ...controls, wrong);
  return {
    root,
    /** @param {string} [text] the sentence, or nothing */
    error(text = "") {
      setText(wrong, text);
      root.classList.toggle("wrong", text !== "");
      for (const control of controls) {
        if (text) control.setAttribute("aria-describedby", wrong.id);
        else control.removeAttribute("aria-describedby");
        control.setAttribute("aria-invalid", String(text !== ""));
      }
    },
    enable(on) {
      root.classList.toggle("off", !on);
      for (const control of controls) control.disabled = !on;
    },
  };
}

/**
 * A choice. `choices` are [value, text] pairs.
 * @param {{label: string, choices: [string, string][], onchange: (value: string) => void}} options
 */
export function select({ label, choices, onchange }) {
  const options = (pairs) => pairs.map(([key, text]) => el("option", { value: key }, text));
  const box = el("select", { onchange: () => onchange(box.value) }, ...options(choices));
  const control = field(label, "choice", [box]);
  return {
    ...control,
    box,
    /** Other choices; the value stays if it is still among them. */
    choices(pairs) {
      const value = box.value;
      box.replaceChildren(...options(pairs));
      if (pairs.some(([key]) => key === value)) box.value = value;
    },
    get value() {
      return box.value;
    },
    set value(value) {
      box.value = value;
    },
  };
}

/**
 * A number: a slider for the hand and a text field for the exact value.
 *
 * With `log` the slider moves in decades. With `infinite` its right end is infinity, which the field takes as "inf".
 * With `sweep` a button moves it from end to end.
 * @param {{label: string, min: number, max: number, log?: boolean, infinite?: boolean, whole?: boolean, sweep?: boolean,
 *          onchange: (value: number, live: boolean) => void}} options
 */
export function slider({ label, min, max, log = false, infinite = false, whole = false, sweep = false, onchange }) {
  const STEPS = whole ? max - min : 200;
  const END = STEPS + (infinite ? 4 : 0); // a notch of its own for infinity, wide enough to hit
  const lo = log ? Math.log10(min) : min;
  const hi = log ? Math.log10(max) : max;
  let current = min;

  const toSlider = (value) => {
    if (value === Infinity) return END;
    const u = log ? Math.log10(value) : value;
    return Math.max(0, Math.min(STEPS, Math.round(((u - lo) / (hi - lo)) * STEPS)));
  };
  const fromSlider = (at) => {
    if (infinite && at > STEPS + 1) return Infinity;
    const u = lo + (Math.min(at, STEPS) / STEPS) * (hi - lo);
    if (whole) return Math.round(u);
    return log ? Number((10 ** u).toPrecision(2)) : Number(u.toFixed(2));
  };

  const range = el("input", { type: "range", min: 0, max: END, step: 1 });
  const text = el("input", { type: "text", inputmode: "decimal", "aria-label": `${label}, exact value`, autocomplete: "off", spellcheck: "false" });
  const control = field(label, "slider", [range, text]);
  const sweeping = sweep ? [sweeper(label, range)] : [];
  control.root.insertBefore(sweeping[0] ?? text, text);

  function show(value) {
    current = value;
    range.value = String(toSlider(value));
    range.setAttribute("aria-valuetext", value === Infinity ? "infinity" : short(value));
    text.value = short(value, 6);
  }

  range.addEventListener("input", () => {
    control.error();
    show(fromSlider(Number(range.value)));
    onchange(current, true);
  });
  range.addEventListener("change", () => onchange(current, false));
  text.addEventListener("change", () => {
    const value = parseNumber(text.value, infinite);
    if (value === null || (whole && !Number.isInteger(value))) {
      const example = infinite ? "a positive number, or inf" : whole ? "a whole number" : "a number";
      control.error(`${label}: “${text.value}” is not ${example}.`);
    } else if (log && value <= 0) {
      control.error(`${label} must be above 0.`);
    } else {
      control.error();
      show(value);
      onchange(value, false);
    }
  });

  show(min);
  return {
    ...control,
    enable(on) {
      control.enable(on);
      for (const button of sweeping) button.disabled = !on;
    },
    get value() {
      return current;
    },
    set value(value) {
      control.error();
      show(value);
    },
  };
}

const SWEEP = 8000; // milliseconds from end to end

/**
 * A button that moves a slider from its left end to its right one, as a hand would; pressed again, it stops.
 *
 * `button.sweep(next)` does the same at another pace: next(at, end) resolves to the place after `at`.
 */
function sweeper(label, range) {
  let sweeping = false;
  const node = el("button", { type: "button", class: "sweep", title: `Sweep ${label} from end to end`, "aria-label": `Sweep ${label}`, onclick: () => (sweeping ? show(false) : sweep(byClock())) }, "▶");

  function show(on) {
    sweeping = on;
    node.textContent = on ? "■" : "▶";
    node.setAttribute("aria-pressed", String(on));
  }

  function byClock() {
    const began = performance.now();
    return async (at, end) => {
      let to = at;
      while (to === at && sweeping) to = Math.min(end, Math.round((end * ((await nextFrame()) - began)) / SWEEP));
      return at < end ? to : end + 1;
    };
  }

  async function sweep(next) {
    const end = Number(range.max);
    show(true);
    for (let at = 0; at <= end && sweeping && range.isConnected; at = await next(at, end)) {
      range.value = String(at);
      range.dispatchEvent(new Event("input"));
    }
    show(false);
    range.dispatchEvent(new Event("change"));
  }

  show(false);
  return Object.assign(node, { sweep });
}

const nextFrame = () => new Promise(requestAnimationFrame);

/** "1e3", "0,5", "−2", "inf" or "∞" as a number; null if it is none. */
export function parseNumber(text, infinite = false) {
  const plain = text.trim().replaceAll("−", "-").replace(",", ".").toLowerCase();
  if (["inf", "infinity", "∞", "+inf"].includes(plain)) return infinite ? Infinity : null;
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/.test(plain)) return null;
  return Number.isFinite(Number(plain)) ? Number(plain) : null;
}

/**
 * Buttons of which one is down, as a radio group: arrow keys move, one stop in the tab order.
 * @param {{label: string, choices: {value: any, content: (Node|string)[], title: string}[], className?: string,
 *          onchange: (value: any) => void}} options
 */
export function choice({ label, choices, className = "row even", onchange }) {
  const buttons = choices.map(({ value, content, title }) =>
    el("button", { type: "button", role: "radio", title, "aria-label": title, onclick: (event) => (pick(value), event.detail && event.currentTarget.blur()) }, ...content),
  );
  const root = el("div", { class: className, role: "radiogroup", "aria-label": label }, ...buttons);
  let current;
  function show(value) {
    current = value;
    buttons.forEach((button, k) => {
      const on = choices[k].value === value;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1;
    });
  }
  function pick(value) {
    show(value);
    onchange(value);
  }
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const k = (choices.findIndex((c) => c.value === current) + step + choices.length) % choices.length;
    pick(choices[k].value);
    buttons[k].focus();
  });
  show(choices[0].value);
  return {
    root,
    get value() {
      return current;
    },
    set value(value) {
      show(value);
    },
  };
}

/** A tick box. @param {{label: string, onchange: (value: boolean) => void}} options */
export function check({ label, onchange }) {
  const box = el("input", { type: "checkbox", onchange: () => onchange(box.checked) });
  return {
    root: el("label", {}, box, label),
    get value() {
      return box.checked;
    },
    set value(on) {
      box.checked = on;
    },
  };
}

/**
 * Tick boxes for what is shown. @param {Record<string, string>} names @param {Record<string, boolean>} show is changed
 * @param {() => void} changed
 */
export function ticks(names, show, changed) {
  const boxes = Object.entries(names).map(([key, label]) => {
    const onchange = (on) => {
      show[key] = on;
      changed();
    };
    return { key, box: check({ label, onchange }) };
  });
  return {
    root: el("div", { class: "checks" }, ...boxes.map(({ box }) => box.root)),
    refresh() {
      for (const { key, box } of boxes) box.value = show[key];
    },
  };
}

/** Controls that belong together. @param {string} title @param {...HTMLElement} content */
export const group = (title, ...content) => el("fieldset", {}, el("legend", { class: "heading" }, title), ...content);

/**
 * A choice of examples; its value is the id of the one on the screen, or "".
 * @param {{id: string, title: string}[]} list @param {(example: any) => void} run
 */
export const examples = (list, run) =>
  select({
    label: "Example",
    choices: [["", "choose …"], ...list.map(({ id, title }) => /** @type {[string, string]} */ ([id, title]))],
    onchange: (id) => id && run(list.find((item) => item.id === id)),
  });

/**
 * Shows the server's error beside its control, in the place of its last one; true if there is such a control.
 * @param {Record<string, any>} fields controls by the names of the server's requests
 */
export function createErrors(fields) {
  let refused = /** @type {any} */ (null);
  return (/** @type {string|null} */ field, /** @type {string} */ sentence = "") => {
    refused?.error();
    refused = fields[field ?? ""] ?? null;
    refused?.error(sentence);
    return refused !== null;
  };
}

/**
 * A button that opens a small window below it: Escape and a press elsewhere close it, and in a list of items the arrow keys move.
 * @param {string} text @param {HTMLElement} content
 */
export function popup(text, content) {
  const box = el("div", { class: "popup", hidden: true }, content);
  const button = el("button", { type: "button", "aria-expanded": "false", onclick: () => open(box.hidden) }, text);
  const root = el("div", { class: "menu" }, button, box);
  function open(on) {
    if (!on && box.contains(document.activeElement)) button.focus();
    box.hidden = !on;
    button.setAttribute("aria-expanded", String(on));
    if (on) box.querySelector("button, input")?.focus();
  }
  content.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = [...content.querySelectorAll("button")];
    const at = all.indexOf(/** @type {any} */ (document.activeElement));
    if (!step || !content.matches(".items") || at < 0) return;
    event.preventDefault();
    all[(at + step + all.length) % all.length].focus();
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || box.hidden) return;
    event.stopPropagation();
    open(false);
  });
  document.addEventListener("pointerdown", (event) => !root.contains(event.target) && open(false));
  return { root, button, close: () => open(false) };
}
