/**
 * Points, views and what is shown as plain data, out of anything: a link, an old session, a table. What is none of these
 * is left out.
 */

/** @typedef {import("./plot.js").Box} Box */

const FAR = 1e6; // coordinates that the server takes
let serial = 0;

/** A point with a name of its own, by which answers of the server find it again. @returns {import("./points.js").Point} */
export const pointOf = (x, y, c = 0) => ({ id: ++serial, x, y, c });

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
export const near = (value) => isNumber(value) && Math.abs(value) <= FAR;

/** Rows [x, y, class] as points; without classes, rows [x, y]. @returns {import("./points.js").Point[]} */
export function pointsFrom(rows, most, classes = 0) {
  const known = (c) => classes === 0 || (Number.isInteger(c) && c >= 0 && c < classes);
  return (Array.isArray(rows) ? rows : [])
    .filter((row) => Array.isArray(row) && near(row[0]) && near(row[1]) && known(row[2]))
    .slice(0, most)
    .map(([x, y, c]) => pointOf(x, y, classes ? c : 0));
}

/** A view, or the one to begin with. @param {any} view @param {Box} home @returns {Box} */
export function boxFrom(view, home) {
  const sides = view && ["x0", "x1", "y0", "y1"].every((side) => near(view[side]));
  const { x0, x1, y0, y1 } = sides && view.x1 - view.x0 > 1e-5 && view.y1 - view.y0 > 1e-5 ? view : home;
  return { x0, x1, y0, y1 };
}

/** As many digits as a link needs. */
export const five = (value) => Number(value.toPrecision(5));

/** A view for a link. @param {Box} box */
export const viewOf = ({ x0, x1, y0, y1 }) => ({ x0: five(x0), x1: five(x1), y0: five(y0), y1: five(y1) });

/** What is not shown, for a link. @param {Record<string, boolean>} show */
export const hiddenOf = (show) => Object.keys(show).filter((key) => !show[key]);

/** Shows all but what a link hides. @param {Record<string, boolean>} show @param {any} hidden */
export function showAllBut(show, hidden) {
  for (const key of Object.keys(show)) show[key] = !(Array.isArray(hidden) && hidden.includes(key));
}

/** C as the server takes it: JSON has no infinity. */
export const penaltyOf = (C) => (C === Infinity ? "inf" : C);
