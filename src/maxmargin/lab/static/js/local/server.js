/**
 * The lab without a server: the calls of api.js, computed in the page. For the exported site, whose element #data holds the
 * options, examples and tours.
 */

import { ApiError } from "../api.js";
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

/** Rows x, y, class, separated by commas, semicolons, tabs or spaces. */
function paste(text) {
  const rows = text.split(/\r?\n/).map((line) => line.split(/[\s,;]+/).filter(Boolean));
  const read = rows.filter((row) => row.length >= 2 && row.slice(0, 2).every((cell) => Number.isFinite(Number(cell))));
  const names = [...new Set(read.map((row) => row[2] ?? "0"))].sort();
  if (!read.length || names.length > 6) throw new ApiError("Give rows of x, y and one of at most 6 classes.", 400);
  return { points: read.map(([x, y, name = "0"]) => [Number(x), Number(y), names.indexOf(name)]), classes: names, sentence: `${read.length} points read.` };
}
