/** Dialogs: keyboard shortcuts, the Python script, pasted tables. Escape closes them; focus goes back by itself. */

import { copyText, download, el } from "./dom.js";

/**
 * Opens a dialog that is gone when closed.
 * @param {string} title
 * @param {(Node|string)[]} content
 * @param {(Node|string)[]} buttons beside "Close"
 */
export function openDialog(title, content, buttons = []) {
  const close = el("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const heading = el("h2", { id: "dialog-title" }, title);
  const dialog = el("dialog", { "aria-labelledby": "dialog-title" }, heading, ...content, el("div", { class: "row" }, ...buttons, close));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // a click beside it
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * @param {{title: string, shortcuts: {key: string, label: string}[]}[]} groups
 */
export function showShortcuts(groups) {
  const content = groups.flatMap(({ title, shortcuts }) => [
    el("h3", {}, title),
    el("dl", {}, ...shortcuts.flatMap(({ key, label }) => [el("dt", {}, ...keys(key)), el("dd", {}, label)])),
  ]);
  openDialog("Keyboard", content);
}

/** "Ctrl+Z" as two keys, "1–6" and "+" as one. */
function keys(text) {
  return text.split(/(?<=.)\+/).map((key) => el("kbd", {}, key));
}

/**
 * The script that does the same in Python.
 * @param {string} script @param {string} name file name @param {(text: string) => void} announce
 */
export function showScript(script, name, announce) {
  const copy = el("button", { type: "button", class: "primary" }, "Copy");
  copy.addEventListener("click", async () => {
    const done = await copyText(script);
    copy.textContent = done ? "Copied" : "Select and copy";
    announce(done ? "Script copied" : "The browser did not allow copying");
  });
  const save = el("button", { type: "button", onclick: () => download(name, new Blob([script], { type: "text/x-python" })) }, "Download");
  openDialog("The same in Python", [el("pre", { tabindex: 0, "aria-label": "Python script" }, script)], [copy, save]);
}

/**
 * Asks for a table of points.
 * @param {(text: string) => Promise<void>} take throws an Error whose message is shown
 */
export function askForTable(take) {
  const area = el("textarea", { rows: 10, "aria-label": "Table", spellcheck: "false", placeholder: "x, y, class\n1.2, 0.4, 0\n2.9, 1.8, 1" });
  const wrong = el("div", { class: "error", role: "alert" });
  const use = el("button", { type: "button", class: "primary" }, "Use these points");
  use.addEventListener("click", async () => {
    use.disabled = true;
    try {
      await take(area.value);
      dialog.close();
    } catch (error) {
      wrong.textContent = error.message;
    }
    use.disabled = false;
  });
  const about = el("p", {}, "Two columns of numbers and a class, with or without a header; commas, semicolons, tabs or spaces between them.");
  const dialog = openDialog("Paste points", [about, area, wrong], [use]);
  area.focus();
}
