/** The picture that is saved: every pane with its charts and its sentence, at twice the size of the screen. */

import { sheet } from "../plot.js";
import { solverOf } from "./solvers.js";

const WIDTH = 640;

/** @param {{panes: import("./pane.js").Pane[], ctx: any}} given @returns {HTMLCanvasElement} */
export function savedPicture({ panes, ctx }) {
  const { rem } = ctx.settings;
  const palette = ctx.palette();
  const font = `${rem}px system-ui, sans-serif`;
  const texts = panes.map((pane) => wrap(pane.note.textContent, font, WIDTH - 2 * rem));
  const head = 2.4 * rem;
  const foot = (Math.max(...texts.map((lines) => lines.length)) * 1.4 + 1) * rem;
  const { canvas, g } = sheet(panes.length * WIDTH, head + 1.5 * WIDTH + foot, palette);
  panes.forEach((pane, k) => {
    const x = k * WIDTH;
    pane.paintOn(g, x, head, WIDTH);
    g.fillStyle = palette.ink;
    g.textAlign = "left";
    g.font = `600 ${1.1 * rem}px system-ui, sans-serif`;
    g.fillText(`${solverOf(pane.run.solver)?.title}, ${pane.place.textContent}`, x + rem, head / 2);
    g.font = font;
    texts[k].forEach((line, j) => g.fillText(line, x + rem, head + 1.5 * WIDTH + (j * 1.4 + 1.1) * rem));
  });
  return canvas;
}

/** Text in lines no wider than so many pixels. @returns {string[]} */
function wrap(text, font, width) {
  const g = new OffscreenCanvas(1, 1).getContext("2d");
  g.font = font;
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lines.at(-1) && g.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
