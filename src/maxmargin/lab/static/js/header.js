/** The header's buttons, the Share menu, and the keys that work everywhere. */

import { overtaken } from "./api.js";
import { popup } from "./controls.js";
import { showScript, showShortcuts } from "./dialogs.js";
import { byId, copyText, download, el } from "./dom.js";
import { announce, toast } from "./notices.js";
import { encode } from "./state.js";

const SHORTCUTS = [
  { key: "Ctrl+Z", label: "Undo" },
  { key: "Ctrl+Y", label: "Redo (also Ctrl+Shift+Z)" },
  { key: "Ctrl+V", label: "Paste a table" },
  { key: "f", label: "Present: the plane fills the screen, type grows with it" },
  { key: "?", label: "This list" },
];

/**
 * @param {{api: any, theme: any, current: () => any, travel: (step: -1|1) => void, snapshot: () => any, present: any}} page
 *        `current` is the tab on the screen
 */
export function createHeader({ api, theme, current, travel, snapshot, present }) {
  const press = (id, run) => byId(id).addEventListener("click", run);
  press("undo", () => travel(-1));
  press("redo", () => travel(1));
  press("smaller", () => theme.resize(-1));
  press("normal", () => theme.resize(0));
  press("larger", () => theme.resize(1));
  press("help", help);
  press("present", () => present.toggle());
  press("theme", () => {
    theme.nextTheme();
    toast(`Colours: ${theme.settings.theme === "auto" ? "those of the system" : theme.settings.theme}`);
  });
  press("skip", (event) => {
    event.preventDefault(); // the address holds the state, not a place on the page
    byId("main").querySelector("section:not([hidden]) :is(canvas, button)")?.focus();
  });
  byId("share").append(shareMenu().root);
  document.addEventListener("keydown", key);
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain");
    if (text && !typing(event.target)) current()?.paste?.(text);
  });

  // ---- share --------------------------------------------------------------------------------------------------------

  function shareMenu() {
    const item = (text, run) => el("button", { type: "button", onclick: () => (menu.close(), run()) }, text);
    const items = [...(location.protocol === "about:" ? [] : [item("Copy link", copyLink)]), item("Save picture (PNG)", savePicture), ...(api.local ? [] : [item("Python script", script)])];
    const films = el("div", { class: "items" });
    const list = el("div", { class: "items" }, ...items, films);
    const menu = popup("Share", list);
    menu.button.addEventListener("click", () => films.replaceChildren(...(current()?.films?.() ?? []).map(({ title, run }) => item(`Film: ${title}`, run))));
    return menu;
  }

  async function copyLink() {
    const link = await encode(snapshot());
    if (link === null) toast("These are too many points for a link: use the Python script instead.");
    else toast((await copyText(`${location.href.split("#")[0]}#${link}`)) ? "Link copied" : "The browser did not allow copying: copy the address instead.");
  }

  async function savePicture() {
    const tab = current();
    const canvas = await tab?.picture?.();
    if (!canvas) toast("This tab has no picture to save yet.");
    else canvas.toBlob((blob) => download(`maxmargin-${tab.id}.png`, blob), "image/png");
  }

  async function script() {
    const tab = current();
    if (!tab) return;
    try {
      const state = tab.scriptState ? tab.scriptState() : tab.getState();
      const answer = await api("/api/script", { tab: tab.scriptTab ?? tab.id, state }, { channel: "script" });
      showScript(answer.script, `maxmargin_${tab.id}.py`, announce);
    } catch (error) {
      if (!overtaken(error)) toast(error.message);
    }
  }

  // ---- keyboard -----------------------------------------------------------------------------------------------------

  function help() {
    const tab = current();
    showShortcuts([
      { title: tab?.title ?? "", shortcuts: (tab?.shortcuts ?? []).filter((shortcut) => shortcut.label) },
      { title: "Everywhere", shortcuts: SHORTCUTS },
    ]);
  }

  function key(event) {
    if (event.defaultPrevented || event.altKey || typing(event.target)) return;
    const name = keyName(event);
    const everywhere = { "Ctrl+z": () => travel(-1), "Ctrl+y": () => travel(1), "Ctrl+Shift+z": () => travel(1), f: () => present.toggle(), "?": help };
    const wanted = current()?.shortcuts?.find((shortcut) => shortcut.run && shortcut.key.toLowerCase() === name.toLowerCase());
    const run = everywhere[name] ?? wanted?.run;
    if (!run) return;
    event.preventDefault();
    run();
  }

  return {
    /** What undo and redo would do; null for nothing. */
    history(undo, redo) {
      for (const [id, word, label] of [["undo", "Undo", undo], ["redo", "Redo", redo]]) {
        const button = byId(id);
        button.disabled = !label;
        button.title = label ? `${word}: ${label}` : word;
      }
    },
  };
}

/** "Ctrl+z", "Shift+a", "?", "ArrowLeft". */
function keyName(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && /^[a-z]$/.test(key); // of signs like ? Shift is a part
  return (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (shift ? "Shift+" : "") + key;
}

/** Whether keys belong to something that the user types in. */
function typing(target) {
  return Boolean(target.closest?.("textarea, select, dialog, [contenteditable]")) || (target.tagName === "INPUT" && target.type === "text");
}
