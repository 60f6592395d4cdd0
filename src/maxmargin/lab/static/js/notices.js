/** Telling the user: to screen readers, for a moment on the page, and the banner of a stopped server. */

import { byId, el, setText } from "./dom.js";

const SHOWN = 3500; // milliseconds of a toast, at least
const READ = 60; // milliseconds that a letter takes to read
const AGAIN = 2000; // until the server is asked again

/** Says a sentence to screen readers. @param {string} text */
export function announce(text) {
  setText(byId("live"), text);
}

let timer = 0;

/** Says a sentence, and shows it for a moment. @param {string} text */
export function toast(text) {
  announce(text);
  const box = byId("toast");
  setText(box, text);
  box.classList.add("shown");
  clearTimeout(timer);
  timer = setTimeout(() => box.classList.remove("shown"), Math.max(SHOWN, READ * text.length));
}

/**
 * The banner; the function it returns is told after every call how the server is. While it is stopped the page asks
 * every other second whether it is back (or, of one that was started again, whether its link was opened), and says so with the event "server-back".
 * @param {() => Promise<any>} ask
 */
export function createBanner(ask) {
  let server = "running";
  let timer = 0; // of the next question
  const again = () => {
    timer = 0;
    if (server !== "running") ask().catch(() => {}).finally(() => (timer ||= setTimeout(again, AGAIN)));
  };
  return (/** @type {"running"|"stopped"|"stranger"} */ state) => {
    if (state === server) return;
    server = state;
    const box = byId("banner");
    box.hidden = state === "running";
    if (state === "stopped") {
      box.replaceChildren("The lab has stopped: run ", el("code", {}, "maxmargin lab"), " again, and this page goes on with your points.");
    } else if (state === "stranger") {
      box.replaceChildren("The lab was started again: open the link that its terminal printed, and this page goes on with your points.");
    } else document.dispatchEvent(new Event("server-back"));
    if (state !== "running") timer ||= setTimeout(again, AGAIN);
  };
}
