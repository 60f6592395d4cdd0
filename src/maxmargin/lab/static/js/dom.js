/** Elements from a line of code: el("button", { class: "icon", onclick: run }, "Undo"). */

/**
 * @param {string} name
 * @param {Record<string, any>} [attributes] names with "on" are listeners; false and null are left out
 * @param {...(Node|string)} children
 * @returns {any}
 */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children);
  return node;
}

/** A button; `title` is its longer name. @param {string|Node} content @param {string} title @param {() => void} run */
export const button = (content, title, run) => el("button", { type: "button", title, onclick: run }, content);

/** A button with a sign on it. @param {Node|string} sign @param {string} label what the sign means @param {() => void} run */
export const iconButton = (sign, label, run) => el("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick: run }, sign);

/**
 * Asks for a file: `.click()` opens the browser's window, and `use` gets what was chosen.
 * @param {string} label @param {string} accept @param {(file: File) => void} use
 */
export function fileChooser(label, accept, use) {
  const node = el("input", { type: "file", "aria-label": label, accept, class: "unseen", tabindex: -1, "aria-hidden": "true" });
  node.addEventListener("change", () => {
    if (node.files[0]) use(node.files[0]);
    node.value = ""; // the same file may be chosen again
  });
  return node;
}

/** The element of the page's HTML with this id. @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** Sets text only where it differs, so that a live page does not make the browser lay out again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Makes the type of a box smaller (--fit) until all its words are in sight; at the least size the box scrolls. */
export function fitWords(node, sizes = [1, 0.9, 0.8, 0.7]) {
  for (const size of sizes) {
    node.style.setProperty("--fit", String(size));
    if (node.scrollHeight <= node.clientHeight + 1) return;
  }
}

/** A number short enough for a label: three digits that matter, no exponent in the usual range. */
export function short(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(1) : String(Number(value.toPrecision(digits)));
  return text.replaceAll("-", "−");
}

/** Hands a file to the browser. @param {string} name @param {Blob} blob */
export function download(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Copies text; true if the browser let us. @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
