/**
 * The page: loads the tabs, shows one of them, and gives all of them what they share.
 *
 * A tab is a module js/tabs/<id>.js with
 *
 *     export const tab = {
 *       id, title,
 *       mount(root, ctx),        builds its page inside the element `root`; called once, before anything else
 *       show(), hide(),          its page comes into view or goes; stop timers and recordings in hide
 *       getState(),              what a link must hold, as small plain data (no NaN, no Infinity)
 *       setState(state),         the same back. `state` may come from a stranger's link or be {}: check every value and
 *                                fall back to defaults. Must not call ctx.commit
 *       shortcuts: [{ key, label, run }],   `key` as KeyboardEvent.key, "Ctrl+k" or "Shift+K"; without `run` it is
 *                                only listed in the help, without `label` not listed. Not called while the user types
 *       films(),                 optional: [{ title, run }], films of a slider that sweeps
 *       picture(),               optional: a canvas with the plot and its legend, for "Save picture"
 *       scriptTab, scriptState(),   optional: tab and state for POST /api/script, where they are not id and getState()
 *       paste(text),             optional: takes text from the clipboard (Ctrl-V outside of fields)
 *     };
 *
 * and the context is
 *
 *     ctx.api(path, body, { channel, signal, method })   see api.js; GET without a body; errors have .field
 *     ctx.api.events(path, onEvent, { signal })          server-sent events
 *     ctx.announce(text)       says it to screen readers; ctx.toast(text) also shows it for a moment
 *     ctx.commit(label, { landmark })   after every finished change of the state: one step of undo ("Move a point").
 *                              With landmark: true also one step of the browser's back button (a preset, a new table);
 *                              with the label "" no step (defaults that came late from the server)
 *     ctx.touch()              the state changed but there is nothing to undo (a slider on its way): only saves it
 *     ctx.palette()            colours for canvases (theme.js), other ones after onSettings
 *     ctx.settings             { dark, still, size, width, rem }; ctx.onSettings(callback) after each change
 *     ctx.setWidth(width)      Gaussians are given by "sigma" or by "gamma", in all tabs
 *     ctx.exportName(suffix)   a file name for what the tab saves
 *     ctx.active()             whether the tab is the one on the screen
 *
 * When a server that had stopped answers again, `document` gets the event "server-back".
 *
 * Page layout for a tab: <div class="workspace"> with <div class="stage"> (.plot with a canvas, .readout, .legend) and
 * <aside class="side"> (controls.js, .comment): css/workspace.css.
 */

import { createApi } from "./api.js";
import { byId, el, setText } from "./dom.js";
import { createHeader } from "./header.js";
import { createLocalApi } from "./local/server.js";
import { announce, createBanner, toast } from "./notices.js";
import { createPresent } from "./present.js";
import { History, decode, encode, store, stored } from "./state.js";
import { createTheme } from "./theme.js";
import { createTours } from "./tours.js";

/** The tabs and their titles, in their order (lab/tabs.py). One whose file is not there is shown, but cannot be opened. */
const TABS = /** @type {[string, string][]} */ (JSON.parse(byId("tabs").dataset.tabs));
/** In a page that was exported: what it needs of the server. */
const site = byId("data") && JSON.parse(byId("data").textContent);
const SAVE_AFTER = 120; // milliseconds

const theme = createTheme();
const banner = createBanner(() => api("/api/options"));
const api = site ? createLocalApi(site) : createApi(banner);
const tours = createTours({ api, toast, go: (at, state) => restore({ at, tabs: { [at]: state } }, "Tour"), changed: () => save(true) });
const present = createPresent({ theme, panel: () => places.get(active)?.panel ?? null });
const header = createHeader({ api, theme, current: () => places.get(active)?.tab, travel, snapshot, present });
/** @type {Map<string, {tab: any, button: HTMLButtonElement, panel: HTMLElement, history: History, mounted: boolean}>} */
const places = new Map();
let waiting = /** @type {Record<string, any>} */ ({}); // states of tabs that are not mounted yet
let active = "";

// ---- tabs -----------------------------------------------------------------------------------------------------------

async function boot() {
  const bar = byId("tabs");
  const loaded = TABS.map(([id]) => import(`./tabs/${id}.js`).then((module) => module.tab).catch((error) => missing(id, error)));
  for (const [i, [id, title]] of TABS.entries()) {
    const panel = el("section", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, hidden: true });
    const button = el("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": panel.id, "aria-selected": "false", tabindex: -1, disabled: true }, title);
    button.addEventListener("click", () => open(id, true));
    bar.append(button);
    byId("main").append(panel);
    loaded[i].then((tab) => {
      if (!tab) return;
      setText(button, tab.title);
      button.disabled = false;
      places.set(id, { tab, button, panel, history: new History(), mounted: false });
    });
  }
  bar.addEventListener("keydown", moveInTabs);
  await Promise.all([...loaded, tours.load()]);
  const state = (await decode(location.hash)) ?? site?.state ?? stored("session") ?? {};
  await restore(state);
  tours.restore(state.tour);
  save(false); // so that the back button finds the way here again
  document.documentElement.dataset.ready = "true";
}

/** A missing file is no error; a broken one is, and is told on the console. */
function missing(id, error) {
  if (!/fetch|load|import/i.test(String(error))) console.error(`tabs/${id}.js`, error);
  return null;
}

function open(id, byUser) {
  const place = places.get(id);
  if (!place || id === active) return;
  const before = places.get(active);
  before?.tab.hide?.();
  active = id;
  for (const [key, other] of places) {
    const on = key === id;
    other.button.setAttribute("aria-selected", String(on));
    other.button.tabIndex = on ? 0 : -1;
    other.panel.hidden = !on;
  }
  if (!place.mounted) mount(id, place);
  place.tab.show?.();
  document.title = `${place.tab.title} · maxmargin lab`;
  showHistory();
  present.moved();
  if (byUser) save(true);
}

function mount(id, place) {
  place.mounted = true;
  place.tab.mount(place.panel, contextOf(id));
  setStateOf(place, waiting[id] ?? {});
  delete waiting[id];
  place.history.push("", place.tab.getState());
}

function setStateOf(place, state) {
  place.tab.setState(state !== null && typeof state === "object" && !Array.isArray(state) ? state : {});
}

function moveInTabs(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const ids = TABS.map(([id]) => id).filter((id) => places.has(id));
  const id = ids[(ids.indexOf(active) + step + ids.length) % ids.length];
  event.preventDefault();
  open(id, true);
  places.get(id)?.button.focus();
}

function contextOf(id) {
  return {
    api,
    announce,
    toast,
    palette: theme.palette,
    settings: theme.settings,
    onSettings: theme.onSettings,
    setWidth: theme.setWidth,
    exportName: (suffix) => `maxmargin-${id}${suffix}`,
    active: () => active === id,
    touch: () => save(false),
    commit(label, { landmark = false } = {}) {
      const place = places.get(id);
      if (!place?.history.push(label, place.tab.getState())) return;
      showHistory();
      save(landmark);
    },
  };
}

// ---- undo, address, storage -----------------------------------------------------------------------------------------

function travel(step) {
  const place = places.get(active);
  const label = step < 0 ? place?.history.undoLabel : place?.history.redoLabel;
  const state = place?.history.step(step);
  if (!place || !state) return;
  place.tab.setState(state);
  announce(`${step < 0 ? "Undone" : "Done again"}: ${label}`);
  showHistory();
  save(false);
}

function showHistory() {
  const history = places.get(active)?.history;
  header.history(history?.undoLabel ?? null, history?.redoLabel ?? null);
}

/** Everything a link holds. */
function snapshot() {
  const tabs = { ...waiting };
  for (const [id, place] of places) if (place.mounted) tabs[id] = place.tab.getState();
  return { v: 1, at: active, tabs, ...(tours.state ? { tour: tours.state } : {}) };
}

let timer = 0;
let landmarkDue = false;
const hasAddress = location.protocol !== "about:"; // of a frame in a notebook there is none to hold the state

/** Soon, and once for many changes; <html data-saved> tells when it is done. */
function save(landmark) {
  landmarkDue ||= landmark;
  document.documentElement.dataset.saved = "false";
  clearTimeout(timer);
  const mine = setTimeout(async () => {
    const state = snapshot();
    store("session", state);
    const link = await encode(state);
    if (timer !== mine) return; // there has been another change since
    const address = link === null ? location.pathname : `#${link}`;
    if (hasAddress) history[landmarkDue ? "pushState" : "replaceState"](null, "", address);
    landmarkDue = false;
    document.documentElement.dataset.saved = "true";
  }, landmark ? 0 : SAVE_AFTER);
  timer = mine;
}

async function restore(state, label = "Open a link") {
  const tabs = state.tabs !== null && typeof state.tabs === "object" ? state.tabs : {};
  for (const [id] of TABS) {
    const place = places.get(id);
    if (!(id in tabs)) continue;
    if (!place?.mounted) waiting[id] = tabs[id];
    else if (JSON.stringify(place.tab.getState()) !== JSON.stringify(tabs[id])) {
      setStateOf(place, tabs[id]);
      place.history.push(label, place.tab.getState());
    }
  }
  open(places.has(state.at) ? state.at : active || (TABS.find(([id]) => places.has(id))?.[0] ?? ""), false);
  showHistory();
}

window.addEventListener("popstate", async () => {
  clearTimeout(timer);
  timer = 0;
  const state = await decode(location.hash);
  if (state) {
    await restore(state);
    tours.restore(state.tour);
  }
  save(false);
});

/** What a summary opens comes into sight: it may be the last thing in a panel that scrolls. */
document.addEventListener("click", (event) => {
  const details = /** @type {any} */ (event.target).closest?.("summary")?.parentElement;
  if (details) requestAnimationFrame(() => details.open && details.scrollIntoView({ block: "nearest" }));
});

boot();
