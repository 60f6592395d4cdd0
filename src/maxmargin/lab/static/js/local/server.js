/**
 * The lab without a server: the calls of api.js, computed in the page. For the exported site, whose element #data holds the
 * options, examples and tours.
 */

import { ApiError } from "../api.js";
import { CLASSES } from "../classify/state.js";
import { near } from "../data.js";
import { classify, curve } from "./classify.js";
import { expansion, kernelFunction, nodesOf } from "./kernels.js";
import { lift } from "./lift.js";
import { trace } from "./traces.js";

const MOST_POINTS = 300;
const ELSEWHERE = "This page has no server. Install the lab for that: pip install \"maxmargin[lab]\", then maxmargin lab.";

/** @param {{options: any, presets: any[], tours: any[]}} site */
export function createLocalApi({ options, presets, tours }) {
  const gets = { "/api/options": options, "/api/presets": presets, "/api/tours": tours };
  const posts = {
    "/api/classify": (request) => classify(request, options),
    "/api/compare": (request) => classify(request, options),
    "/api/curve": curve,
    "/api/trace": trace,
    "/api/lift": lift,
    "/api/trace-values": ({ points, kernel, alphas, intercept, view, grid }) => ({
      values: expansion(kernelFunction(kernel), points.map(([x, y]) => [x, y]), alphas, intercept, nodesOf(view, ...grid)),
    }),
    "/api/paste": ({ text }) => paste(text),
  };

  async function api(path, body, { signal } = {}) {
    if (path in gets) return structuredClone(gets[path]);
    if (!posts[path]) throw new ApiError(ELSEWHERE, 400);
    await new Promise((done) => setTimeout(done)); // the page paints first
    if (signal?.aborted) throw new DOMException("superseded", "AbortError");
    if (body.points?.length > MOST_POINTS) throw new ApiError(`This page takes at most ${MOST_POINTS} points; the installed lab takes 5,000.`, 400);
    return posts[path](body);
  }

  api.events = async () => {
    throw new ApiError(ELSEWHERE, 400);
  };
  api.local = true; // what only a server can do is not offered
  return api;
}

/** Rows x, y, class, separated by tabs, semicolons, commas or spaces; a first row without numbers is a header. */
function paste(text) {
  const refuse = (sentence) => {
    throw new ApiError(sentence, 400, "text");
  };
  const lines = text.split(/\r?\n/).filter((line) => line.trim() && !line.trim().startsWith("#"));
  const separator = ["\t", ";", ","].find((sign) => lines.at(-1)?.includes(sign)) ?? /\s+/;
  const rows = lines.map((line) => line.trim().split(separator).map((cell) => cell.trim()));
  const isNumber = (cell = "") => cell !== "" && near(Number(cell));
  if (rows.length && !rows[0].slice(0, 2).some(isNumber)) rows.shift();
  const columns = Math.max(0, ...rows.map((row) => row.length));
  if (columns > 3) refuse(`The table has ${columns} columns: keep x, y and the class, in this order, and leave out the others.`);
  const read = rows.filter((row) => row.slice(0, 2).filter(isNumber).length === 2 && row[2] !== "");
  if (!read.length) refuse("No row could be read: give x, y and a class, separated by commas or tabs.");
  if (read.length > MOST_POINTS) refuse(`${read.length.toLocaleString("en")} rows are more than this page can take: paste at most ${MOST_POINTS}.`);
  const names = [...new Set(read.map((row) => row[2] ?? "0"))].sort((a, b) => Number(a) - Number(b) || (a < b ? -1 : 1));
  if (names.length > CLASSES) refuse(`Column 3 has ${names.length} different classes: the page shows at most ${CLASSES}.`);
  const left = rows.length - read.length;
  return { points: read.map(([x, y, name = "0"]) => [Number(x), Number(y), names.indexOf(name)]), classes: names, sentence: `${read.length} points read${left ? `; ${left} row${left > 1 ? "s" : ""} left out` : ""}.` };
}
