/** What all charts of a run have: a place, a title in colours, a frame, lines and dots. */

/** @typedef {{x: number, y: number, w: number, h: number}} Area */
/** @typedef {{g: CanvasRenderingContext2D, palette: any, rem: number}} Style */

/** The inside of a chart, below its title and beside its numbers. */
export function inside({ x, y, w, h }, rem) {
  return { x: x + 3.1 * rem, y: y + 1.9 * rem, w: w - 3.9 * rem, h: h - 2.7 * rem };
}

/** Words in a row, smaller where the chart is too narrow for them; without a colour they are muted. */
export function title({ g, palette, rem }, area, words) {
  const font = (size) => `600 ${size}px system-ui, sans-serif`;
  g.font = font(0.82 * rem);
  g.textAlign = "left";
  g.textBaseline = "middle";
  const needed = words.reduce((sum, [text]) => sum + g.measureText(text).width, 0.8 * rem * (words.length + 1));
  const shrink = Math.min(1, area.w / needed);
  g.font = font(0.82 * rem * shrink);
  let x = area.x + 0.8 * rem * shrink;
  for (const [text, colour] of words) {
    g.fillStyle = colour ?? palette.muted;
    g.fillText(text, x, area.y + 1.05 * rem);
    x += g.measureText(text).width + 0.8 * rem * shrink;
  }
}

export function ground({ g, palette, rem }, { x, y, w, h }) {
  g.strokeStyle = palette.line;
  g.lineWidth = rem / 15;
  g.strokeRect(Math.round(x) + 0.5, Math.round(y) + 0.5, Math.round(w), Math.round(h));
}

/** A line through places; null interrupts it. */
export function stroke(g, places) {
  g.beginPath();
  let pen = false;
  for (const place of places) {
    if (place) g[pen ? "lineTo" : "moveTo"](...place);
    pen = place !== null;
  }
  g.stroke();
}

export function dot(g, x, y, r) {
  g.beginPath();
  g.arc(x, y, r, 0, 2 * Math.PI);
  g.fill();
}
