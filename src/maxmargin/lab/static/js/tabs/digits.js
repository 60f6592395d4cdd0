/**
 * Digits: draw one, and see what a model that has learnt from 1,797 of them takes it for, and why.
 *
 * model ─ pad (strokes), pictures and panel (model) change it ─ /api/digits answers ─ verdict.js shows it.
 */

import { overtaken } from "../api.js";
import { createComment } from "../classify/notes.js";
import { savedPicture } from "../digits/export.js";
import { imageOf, readPicture } from "../digits/files.js";
import { Pad } from "../digits/pad.js";
import { createPanel } from "../digits/panel.js";
import { sample } from "../digits/samples.js";
import { MOST_PLACES, MOST_STROKES, drawn, classifierOf, classifierRequest, pictureOf, pictureState, strokesOf } from "../digits/state.js";
import { createVerdict } from "../digits/verdict.js";
import { button, el, fileChooser, setText } from "../dom.js";
import { asking, latest } from "../latest.js";

const PAUSE = 60; // milliseconds between two looks at a drawing that grows
const PLAYED = 900; // milliseconds in which an example is drawn
const FIRST = 3; // the example that a first visit finds

const model = {
  strokes: /** @type {import("../digits/pad.js").Stroke[]} */ ([]),
  picture: /** @type {string|null} */ (null),
  classifier: classifierOf({}),
};

let ctx, pad, panel, verdict, comment, asker, hint, note, buttons;
let image = /** @type {HTMLImageElement|null} */ (null); // the picture, to paint
let answer = /** @type {any} */ (null);
let timer = 0;
let playing = 0;
let example = -1; // the last one shown
let invited = false; // the first example is on the paper, until a hand draws

function mount(root, context) {
  ctx = context;
  pad = new Pad(ctx, { strokes: () => model.strokes, picture: () => image, begin, changed, full, back });
  verdict = createVerdict(ctx);
  comment = createComment(() => {
    asker.drop();
    comment.alarm("The training was cancelled. Any change begins another one.");
  });
  asker = latest(asking(ctx, "/api/digits"), { answered, failed, busy });
  panel = createPanel({ ctx, classifier: model.classifier, changed: classifierChanged });
  const touch = matchMedia("(pointer: coarse)").matches;
  hint = el("div", { class: "hint" }, el("b", {}, "Draw a digit here"), touch ? "with a finger or a pen" : "with the mouse, or drop a picture of one");
  note = el("p", { class: "note", role: "alert" });
  const file = fileChooser("A picture of a digit", "image/*", take);
  buttons = {
    back: button("Undo stroke", "Take the last stroke back (Backspace on the paper)", back),
    clear: button("Clear", "A new sheet (key c)", clear),
    example: button("Example", "Draws a digit, another one each time (key x)", play),
    picture: button("Picture …", "Choose a picture of a digit; it can also be dropped or pasted", () => file.click()),
  };
  const paper = el("div", { class: "paper" }, el("div", { class: "plot" }, pad.canvas, hint));
  const desk = el("section", { class: "desk", "aria-label": "Drawing" }, paper, el("div", { class: "row even" }, ...Object.values(buttons)), note, file);
  const stage = el("div", { class: "stage digits" }, desk, el("div", { class: "verdict" }, verdict.looks, verdict.scores), verdict.evidence);
  root.append(el("div", { class: "workspace" }, stage, el("aside", { class: "side", "aria-label": "Controls" }, panel.root, comment.root)));

  root.addEventListener("dragover", (event) => event.preventDefault());
  root.addEventListener("drop", (event) => {
    event.preventDefault(); // the browser would leave the page for the file
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  document.addEventListener("paste", (event) => {
    const found = [...(event.clipboardData?.files ?? [])].find((each) => each.type.startsWith("image/"));
    if (found && ctx.active()) take(found);
  });
  document.addEventListener("server-back", () => look());
  verdict.show(null);
}

// ---- drawing --------------------------------------------------------------------------------------------------------

const full = () => model.strokes.length > MOST_STROKES || model.strokes.reduce((sum, stroke) => sum + stroke.length, 0) >= MOST_PLACES;

/** A new stroke; a picture makes room for it. */
function begin(place) {
  stopPlaying();
  if (model.picture || invited) setDrawing([], null);
  if (full() || model.strokes.length === MOST_STROKES) {
    ctx.toast("The paper is full: clear it first.");
    return null;
  }
  model.strokes.push([place]);
  return model.strokes.at(-1);
}

function changed(label, live) {
  refresh();
  if (live) {
    timer ||= setTimeout(() => {
      timer = 0;
      if (drawn(model.strokes)) look();
    }, PAUSE);
    ctx.touch();
  } else {
    clearTimeout(timer);
    timer = 0;
    look();
    ctx.commit(label);
  }
}

function back() {
  stopPlaying();
  if (!model.strokes.length) return;
  setDrawing(model.strokes.slice(0, -1), null);
  changed("Take a stroke back", false);
}

function clear() {
  if (empty()) return;
  setDrawing([], null);
  changed("Clear", false);
  ctx.announce("A new sheet");
}

/** Draws the next example, stroke by stroke. */
function play() {
  const next = (example + 1) % 10;
  const whole = sample(next);
  const total = whole.reduce((sum, stroke) => sum + stroke.length, 0);
  setDrawing([], null);
  example = next;
  const start = performance.now();
  const step = (now) => {
    const part = ctx.settings.still ? 1 : Math.min(1, Math.max(0, now - start) / PLAYED);
    let left = Math.ceil(part * total);
    model.strokes = whole.map((stroke) => stroke.slice(0, Math.max(0, (left -= stroke.length) + stroke.length))).filter((stroke) => stroke.length);
    pad.redraw();
    playing = part < 1 ? requestAnimationFrame(step) : 0;
    changed(`Example: ${next}`, part < 1);
  };
  playing = requestAnimationFrame(step);
}

/** The page goes out of view: the example is shown as a whole at once. */
function hide() {
  if (!playing) return;
  setDrawing(sample(example), null);
  changed(`Example: ${example}`, false);
}

function stopPlaying() {
  cancelAnimationFrame(playing);
  playing = 0;
}

/** Another drawing in the place of what is there. */
function setDrawing(strokes, picture) {
  stopPlaying();
  pad.stop();
  invited = false;
  model.strokes = strokes;
  if (model.picture !== picture) showImage(picture);
  model.picture = picture;
  pad.redraw();
}

async function showImage(picture) {
  image = null;
  const found = picture && (await imageOf(picture));
  if (picture === model.picture) image = found || null;
  pad.redraw();
}

const empty = () => !model.strokes.length && !model.picture;

function refresh() {
  hint.hidden = !empty() && !invited;
  hint.classList.toggle("low", invited);
  buttons.back.disabled = !model.strokes.length || invited;
  buttons.clear.disabled = empty();
}

/** A picture of the user's. It takes the drawing's place once the server could read it. */
async function take(file) {
  setText(note, `Reading ${file.name} …`);
  try {
    const picture = await readPicture(file);
    asker.drop();
    const found = await ctx.api("/api/digits", { image: picture, classifier: classifierRequest(model.classifier) });
    setDrawing([], picture);
    setText(note, "");
    refresh();
    answered(found);
    ctx.commit("Open a picture", { landmark: true });
  } catch (error) {
    setText(note, overtaken(error) ? "" : error.message); // a new stroke overtakes it
    if (!empty()) asker.ask(question());
  }
}

// ---- the answer -----------------------------------------------------------------------------------------------------

const subject = () => (model.picture ? { image: model.picture } : { strokes: model.strokes });
const question = () => ({ ...subject(), classifier: classifierRequest(model.classifier) });

function classifierChanged(label) {
  look(true);
  ctx.commit(label);
}

function look(overtake = false) {
  setText(note, "");
  if (!empty()) asker.ask(question(), null, { overtake });
  else {
    asker.drop();
    forget();
    comment.show({ lines: [] });
  }
}

/** The first drawing should not have to wait for the model to learn. */
function warm() {
  if (empty()) asker.ask({ strokes: sample(1), classifier: classifierRequest(model.classifier) }, "warm");
}

function answered(found, tag) {
  if (tag === "warm") return;
  if (found.label !== answer?.label) ctx.announce(found.comment[0]); // not with every move of the pen
  answer = found;
  panel.error(null);
  verdict.show(answer);
  comment.show({ lines: answer.comment });
}

function failed(error, tag) {
  if (error.status === 0 || tag === "warm") return; // the banner tells it, or the first drawing will
  forget();
  const placed = panel.error(error.field, error.message);
  const here = ["strokes", "image"].includes(error.field);
  setText(note, here ? error.message : "");
  comment.show({ lines: [], alarm: placed || here ? "" : error.message });
}

/** A model that nobody has asked for yet learns first, which takes a second or more. */
function busy(on) {
  if (on && empty()) return; // nobody waits
  comment.progress(on ? { iteration: 0 } : null);
  verdict.busy(on);
}

function forget() {
  answer = null;
  verdict.show(null);
}

// ---- the tab --------------------------------------------------------------------------------------------------------

function getState() {
  return { ...(invited ? {} : { strokes: model.strokes }), ...pictureState(model.picture), classifier: classifierRequest(model.classifier) };
}

function setState(state) {
  const picture = pictureOf(state.picture);
  Object.assign(model.classifier, classifierOf(state.classifier));
  setDrawing(picture ? [] : strokesOf(state.strokes), picture ?? null);
  if (!("strokes" in state) && !("picture" in state)) {
    setDrawing(sample(FIRST), null);
    [example, invited] = [FIRST, true];
  }
  panel.refresh();
  refresh();
  look();
  if (picture === undefined) setText(note, "The picture was too large for the link: choose it again.");
}

export const tab = {
  id: "digits",
  title: "Digits",
  mount,
  show() {
    pad.plane.fit();
    warm();
  },
  hide,
  getState,
  setState,
  scriptState: question,
  picture: () => savedPicture({ pad, ctx, answer }),
  shortcuts: [
    { key: "c", label: "Clear: a new sheet", run: clear },
    { key: "x", label: "Draw an example, another one each time", run: play },
    { key: "←↑→↓", label: "On the paper: move the pen (with Shift: farther)" },
    { key: "Space", label: "On the paper: put the pen down, or lift it" },
    { key: "Backspace", label: "On the paper: take the last stroke back" },
  ],
};
