/**
 * Points to begin with: small sets whose steps can be followed with the finger, and the server's presets of two
 * classes. Points of Classify are brought down to two classes and to as many as a tab takes.
 */

import { pointsOf } from "../classify/state.js";
import { stored } from "../state.js";
import { tab as classify } from "../tabs/classify.js";

const LINEAR = { name: "linear" };

/** As the server's presets: id, title, sentence, points, kernel, C. */
export const SMALL = [
  {
    id: "six",
    title: "Six points",
    sentence: "Six points: three steps of SMO are enough. Follow each one.",
    points: [[-0.7, 0.5, 0], [-0.5, -0.45, 0], [-0.15, 0.05, 0], [0.2, 0.45, 1], [0.3, -0.35, 1], [0.75, 0.2, 1]],
    kernel: LINEAR,
    C: 10,
  },
  {
    id: "mixed",
    title: "Fourteen that overlap",
    sentence: "One point of each class is among the others: its α rises to the bound C and stays there.",
    points: [
      [-0.75, 0.5, 0], [-0.6, -0.1, 0], [-0.45, 0.3, 0], [-0.4, -0.6, 0], [-0.2, 0.05, 0], [-0.15, 0.65, 0], [0.35, -0.15, 0],
      [0.15, -0.5, 1], [0.25, 0.35, 1], [0.45, 0.1, 1], [0.5, -0.7, 1], [0.6, 0.55, 1], [0.8, -0.2, 1], [-0.3, -0.2, 1],
    ],
    kernel: LINEAR,
    C: 5,
  },
];

/** Those of the server's presets that have two classes and at most so many points. */
export function twoClasses(presets, most) {
  return presets.filter(({ points }) => points.length <= most && new Set(points.map((p) => p[2])).size === 2);
}

/**
 * The points of Classify for a tab of two classes.
 * @param {number} most
 * @returns {{points: import("../points.js").Point[], kernel: any, C: any, sentence: string}|null} null if there are none
 */
export function fromClassify(most) {
  const live = classify.getState();
  const state = Array.isArray(live.points) ? live : (stored("session")?.tabs?.classify ?? {});
  const all = pointsOf(state.points);
  const classes = [...new Set(all.map((p) => p.c))].sort((a, b) => a - b);
  if (classes.length < 2) return null;
  let points = all.filter((p) => p.c === classes[0] || p.c === classes[1]);
  const parts = [`${points.length} points`];
  if (classes.length > 2) parts[0] += ` of classes ${classes[0] + 1} and ${classes[1] + 1}: this tab shows two`;
  if (points.length > most) {
    const stride = points.length / most;
    points = Array.from({ length: most }, (_, k) => points[Math.floor(k * stride)]);
    parts.push(`${most} of them, the most it takes`);
  }
  for (const point of points) point.c = point.c === classes[0] ? 0 : 1;
  return { points, kernel: state.kernel, C: state.C, sentence: `From Classify: ${parts.join("; ")}.` };
}
