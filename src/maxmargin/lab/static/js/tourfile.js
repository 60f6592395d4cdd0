/** A tour out of the text of a file, checked: every mistake is a sentence with the line where it stands. */

import { EXAMPLES } from "./regress/examples.js";
import { LIMITS, USES } from "./regress/state.js";
import { MAPS } from "./lift/maps.js";
import { FORMULAS } from "./model.js";
import { SMALL } from "./step/examples.js";
import { SOLVERS } from "./step/solvers.js";

const MOST_STEPS = 100;
const LONGEST_TEXT = 2000;
const STEP_KEYS = ["text", "watch", "at", "state"];
const VIEW = ["points", "view", "hidden", "example"];
/** What a state may hold, by tab. */
const STATES = {
  classify: [...VIEW, "kernel", "C", "nu", "solver", "multiclass", "holdout", "probability", "noise", "compare"],
  step: [...VIEW, "kernel", "C", "solver", "second", "sync", "seed", "at", "speed"],
  lift: [...VIEW, "map", "gamma", "C", "lifted", "eye"],
  regress: [...VIEW, "model", ...Object.keys(LIMITS)],
  digits: ["strokes", "picture", "classifier"],
};
const names = (list) => list.map(({ name }) => name);
const CHOICES = { second: [...names(SOLVERS), ""], sync: ["iteration", "share"], map: names(MAPS), model: Object.keys(USES) };
const KERNELS = Object.keys(FORMULAS);

const isText = (value) => typeof value === "string" && value.trim() !== "" && value.length <= LONGEST_TEXT;
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const shown = (value) => JSON.stringify(value);

/**
 * A tour out of the text of a file; a mistake is an Error that names its line.
 * @param {string} text @param {string[]} [examples] those of Classify, if they are known
 */
export function parseTour(text, examples) {
  const line = (offset) => text.slice(0, offset).split("\n").length;
  let tour;
  try {
    tour = JSON.parse(text);
  } catch {
    const at = brokenAt(text);
    const here = text.slice(at).trim().slice(0, 20);
    throw new Error(`Line ${line(at)} of the tour is not JSON${here ? ` from “${here}” on` : ": it ends too early"}. Look for a missing comma, bracket or quotation mark.`);
  }
  const wrong = mistake(tour, examples);
  if (!wrong) return tour;
  const begins = wrong.step === null ? 0 : starts(text)[wrong.step];
  const found = wrong.key && new RegExp(`${JSON.stringify(wrong.key).replace(/\W/g, "\\$&")}\\s*:`).exec(text.slice(begins));
  throw new Error(`Line ${line(begins + (found ? found.index : 0))} of the tour: ${wrong.sentence}`);
}

/** What is wrong with a tour, in which step and at which of its keys; null if nothing. @param {any} tour @param {string[]} [examples] */
export function mistake(tour, examples) {
  if (!isObject(tour) || !isText(tour.title)) return { step: null, key: "title", sentence: 'give the tour a "title".' };
  if (!Array.isArray(tour.steps) || !tour.steps.length || tour.steps.length > MOST_STEPS) return { step: null, key: "steps", sentence: `"steps" must be a list of 1 to ${MOST_STEPS} steps.` };
  for (const [k, step] of tour.steps.entries()) {
    const [key, sentence] = inStep(step, examples) ?? [];
    if (sentence) return { step: k, key, sentence: `step ${k + 1} ${sentence}` };
  }
  return null;
}

/** @returns {[string, string]|null} key and sentence */
function inStep(step, examples) {
  if (!isObject(step)) return ["", 'must be an object with "text", "at" and "state".'];
  if (!isText(step.text)) return ["text", 'has no "text".'];
  if (step.watch !== undefined && !isText(step.watch)) return ["watch", 'has a "watch" that is not text.'];
  if (!Object.hasOwn(STATES, step.at)) return ["at", `has "at": ${shown(step.at)}; it must be one of ${Object.keys(STATES).join(", ")}.`];
  if (step.state !== undefined && !isObject(step.state)) return ["state", 'has a "state" that is not an object.'];
  return unknown(step, STEP_KEYS) ?? inState(step.at, step.state ?? {}, examples);
}

/** A key that nobody reads is a mistake of typing. */
function unknown(given, keys) {
  const key = Object.keys(given).find((name) => !keys.includes(name));
  return key === undefined ? null : /** @type {[string, string]} */ ([key, `has an unknown ${shown(key)}; there are ${keys.join(", ")}.`]);
}

function inState(at, state, examples) {
  const wrong = unknown(state, STATES[at]);
  if (wrong) return wrong;
  const small = at === "step" ? SMALL.map(({ id }) => id) : [];
  const choices = { ...CHOICES, example: at === "regress" ? EXAMPLES.map(({ id }) => id) : examples && [...small, ...examples], ...(at === "step" ? { solver: names(SOLVERS) } : {}) };
  for (const [key, list] of Object.entries(choices)) {
    if (state[key] !== undefined && list && !list.includes(state[key])) return [key, `has ${shown(key)}: ${shown(state[key])}; it must be one of ${list.filter(Boolean).join(", ")}.`];
  }
  for (const key of ["C", "gamma", "sigma"]) {
    const value = state[key];
    if (value !== undefined && !(value === "inf" && key === "C") && !(typeof value === "number" && value > 0)) return [key, `has ${shown(key)}: ${shown(value)}; it must be a positive number${key === "C" ? ' or "inf"' : ""}.`];
  }
  const kernel = state.kernel && (isObject(state.kernel) ? state.kernel.name : state.kernel);
  if (state.kernel !== undefined && !(isObject(state.kernel) && KERNELS.includes(kernel))) return ["kernel", `has the kernel ${shown(kernel)}; write { "name": one of ${KERNELS.join(", ")} }.`];
  if (state.points !== undefined && !isTable(state.points, at)) return ["points", `has "points" that are not rows ${at === "regress" ? "[x, y]" : "[x, y, class]"}; classes are 0, 1, ...`];
  return isObject(state.compare) ? inState("classify", Object.fromEntries(Object.entries(state.compare).filter(([key]) => key !== "loss")), examples) : null;
}

const isTable = (rows, at) => Array.isArray(rows) && rows.every((row) => Array.isArray(row) && row.length >= (at === "regress" ? 2 : 3) && row.every(Number.isFinite) && (at === "regress" || Number.isInteger(row[2])));

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

const TOKEN = /\s*("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|true\b|false\b|null\b|[{}[\],:])/y;

/** Where a text stops being JSON: browsers do not all say that. @param {string} text */
function brokenAt(text) {
  let at = 0;
  const next = () => {
    TOKEN.lastIndex = at;
    return TOKEN.exec(text)?.[1] ?? "";
  };
  const take = (/** @type {boolean} */ right) => {
    if (!right) throw at;
    next();
    at = TOKEN.lastIndex;
  };
  const isPlain = (token) => token !== "" && !"{}[],:".includes(token);
  function value() {
    const open = next();
    if (open !== "{" && open !== "[") return take(isPlain(open));
    const close = open === "{" ? "}" : "]";
    take(true);
    if (next() === close) return take(true);
    for (;;) {
      if (open === "{") {
        take(next()[0] === '"');
        take(next() === ":");
      }
      value();
      if (next() !== ",") return take(next() === close);
      take(true);
    }
  }
  try {
    value();
  } catch (found) {
    if (typeof found !== "number") throw found;
  }
  return at + (/^\s*/.exec(text.slice(at))?.[0].length ?? 0);
}
