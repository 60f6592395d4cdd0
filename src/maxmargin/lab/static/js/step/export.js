/** The run as a slide of 1920 x 1080: every pane with its charts and its sentence. For the saved picture and the film. */

import { SLIDE } from "../film.js";
import { solverOf } from "./solvers.js";

const { width: WIDTH, height: HEIGHT, rem: REM } = SLIDE;

/**
 * @param {HTMLCanvasElement} canvas @param {import("./pane.js").Pane[]} panes that have a run
 * @param {(run: import("./run.js").Run) => string} model kernel and C in words
 */
export function paintSlide(canvas, panes, palette, model) {
  const g = canvas.getContext("2d");
  const two = panes.length > 1;
  const size = two ? 0.85 * REM : REM;
  const width = WIDTH / panes.length;
  const head = 3.6 * REM;
  const foot = (two ? 7 : 4) * 1.35 * size;
  const body = HEIGHT - head - foot;
  g.fillStyle = palette.surface;
  g.fillRect(0, 0, WIDTH, HEIGHT);
  panes.forEach((pane, k) => {
    const x = k * width;
    const split = two ? 0.62 * body : 0.6 * width;
    const plane = two ? { x, y: head, w: width - REM, h: split } : { x, y: head, w: split, h: body };
    const charts = two ? { x, y: head + split, w: width - REM, h: body - split } : { x: x + split, y: head, w: width - split, h: body };
    pane.paintOn(g, plane, charts, REM);
    g.fillStyle = palette.ink;
    g.textAlign = "left";
    g.textBaseline = "middle";
    g.font = `600 ${1.1 * REM}px system-ui, sans-serif`;
    g.fillText(`${solverOf(pane.run.solver)?.title}, ${pane.place.textContent}`, x + REM, 1.1 * REM, width - 2 * REM);
    g.fillStyle = palette.muted;
    g.font = `${REM}px system-ui, sans-serif`;
    g.fillText(model(pane.run), x + REM, 2.6 * REM, width - 2 * REM);
    g.fillStyle = palette.ink;
    g.font = `${size}px system-ui, sans-serif`;
    wrap(g, pane.note.textContent, width - 2 * REM).forEach((line, j) => g.fillText(line, x + REM, head + body + (j + 0.7) * 1.35 * size));
  });
}

/** Text in lines no wider than so many pixels. @returns {string[]} */
function wrap(g, text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lines.at(-1) && g.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
