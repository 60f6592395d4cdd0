/** The ten digits as a hand writes them, for the Example button: strokes in the unit square, y downwards. */

const STEP = 0.02;

/** Points along a line through these corners. */
function line(...corners) {
  const out = [];
  for (let k = 0; k + 1 < corners.length; k++) {
    const [[x0, y0], [x1, y1]] = [corners[k], corners[k + 1]];
    const n = Math.max(1, Math.round(Math.hypot(x1 - x0, y1 - y0) / STEP));
    for (let i = k ? 1 : 0; i <= n; i++) out.push([x0 + ((x1 - x0) * i) / n, y0 + ((y1 - y0) * i) / n]);
  }
  return out;
}

/** Points on an ellipse around (x, y), from one angle to another in turns of the clock: 0 is at twelve. */
function arc(x, y, rx, ry, from, to) {
  const n = Math.max(2, Math.round((Math.abs(to - from) * 2 * Math.PI * Math.max(rx, ry)) / STEP));
  return Array.from({ length: n + 1 }, (_, i) => {
    const t = 2 * Math.PI * (from + ((to - from) * i) / n);
    return [x + rx * Math.sin(t), y - ry * Math.cos(t)];
  });
}

/** A loop with one crossing: x = sin 2t, y = -cos t, a little slanted. */
function eight(x, y, rx, ry) {
  return Array.from({ length: 101 }, (_, i) => {
    const t = (2 * Math.PI * i) / 100;
    return [x - rx * Math.sin(2 * t) + 0.03 * Math.cos(t), y - ry * Math.cos(t)];
  });
}

const DIGITS = [
  [arc(0.5, 0.5, 0.22, 0.36, 0, -1)],
  [line([0.36, 0.3], [0.54, 0.13], [0.52, 0.87])],
  [[...arc(0.48, 0.32, 0.2, 0.19, -0.2, 0.36), ...line([0.62, 0.46], [0.3, 0.84], [0.74, 0.84])]],
  [[...arc(0.47, 0.32, 0.2, 0.19, -0.17, 0.5), ...arc(0.47, 0.7, 0.22, 0.19, 0, 0.68)]],
  [line([0.46, 0.12], [0.26, 0.58], [0.76, 0.58]), line([0.62, 0.36], [0.56, 0.88])],
  [[...line([0.7, 0.14], [0.38, 0.14], [0.34, 0.46]), ...arc(0.47, 0.64, 0.22, 0.22, -0.1, 0.68)]],
  [[...line([0.6, 0.12], [0.42, 0.34]), ...arc(0.49, 0.67, 0.19, 0.2, -0.25, -1.25), [0.34, 0.52]]],
  [line([0.28, 0.15], [0.72, 0.15], [0.44, 0.88]), line([0.36, 0.52], [0.68, 0.5])],
  [eight(0.5, 0.5, 0.17, 0.36)],
  [[...arc(0.48, 0.34, 0.18, 0.2, 0.2, -0.8), ...line([0.66, 0.34], [0.63, 0.62], [0.54, 0.88])]],
];

const round = (value) => Number(value.toFixed(3));

/** @param {number} digit @returns {[number, number][][]} */
export const sample = (digit) => DIGITS[digit].map((stroke) => stroke.map(([x, y]) => [round(x), round(y)]));
