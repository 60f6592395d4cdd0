/**
 * A fit by the server. Up to `SMALL` points, and while a point is dragged, it is one call. More take long enough that the user wants to see them go: the
 * server's watched fits report their progress and can be cancelled.
 */

export const SMALL = 1000;

/**
 * The work of `latest`. @param {any} ctx @param {(progress: any) => void} progress
 * @returns {(request: any, signal: AbortSignal) => Promise<any>}
 */
export const fitting = (ctx, progress) => (request, signal) =>
  request.points.length > SMALL && !request.live ? watched(ctx, request, signal, progress) : ctx.api("/api/classify", request, { signal });

async function watched(ctx, request, signal, progress) {
  let answer = null;
  let wrong = null;
  progress({ iteration: 0 });
  const { id } = await ctx.api("/api/fits", request); // to its end: a fit whose name nobody knows could not be cancelled
  const cancel = () => ctx.api(`/api/fits/${id}`, undefined, { method: "DELETE" }).catch(() => {});
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel);
  const take = (name, data) => {
    if (name === "progress") progress(data);
    if (name === "done") answer = data;
    if (name === "error") wrong = data;
  };
  await ctx.api.events(`/api/fits/${id}/events`, take, { signal });
  if (answer) return answer;
  if (!wrong || wrong.error === "superseded") throw new DOMException("superseded", "AbortError");
  throw Object.assign(new Error(wrong.error), { field: wrong.field ?? null });
}
