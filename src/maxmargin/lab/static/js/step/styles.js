/** Style sheets of a tab, loaded with its module: the page is laid out once, when all of them are there. */

import { el } from "../dom.js";

/** @param {string} name of the file in css/, without ending @returns {Promise<void>} */
export function styled(name) {
  const href = `/static/css/${name}.css`;
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  return new Promise((done) => {
    document.head.append(el("link", { rel: "stylesheet", href, onload: () => done(), onerror: () => done() }));
  });
}
