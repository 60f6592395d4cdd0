/** What both tabs of two classes do with their points: add, erase, take over, clear, and say what is missing. */

import { boxAround } from "../classify/state.js";
import { pointActions } from "../points.js";
import { fromClassify } from "./examples.js";

/**
 * @param {{ctx: any, model: {points: import("../points.js").Point[], tool: import("./pointset.js").Tool}, most: number,
 *          set: (points: import("../points.js").Point[], box: any|null) => void, box null: as it is
 *          taken: (state: {kernel: any, C: any}) => void, refresh: () => void,
 *          changed: (label: string, live: boolean) => void, begin: (label: string) => void}} host
 */
export function createChanges({ ctx, model, most, set, taken, refresh, changed, begin }) {
  function tool(chosen) {
    model.tool = chosen;
    refresh();
    ctx.announce({ move: "Move points", erase: "Erase points" }[chosen] ?? `Add points of class ${chosen + 1}`);
  }

  return {
    /** For the editor of a plane. */
    editor: { ...pointActions(ctx, model, most, () => Number(model.tool === 1)), changed },
    tool,
    classify() {
      const found = fromClassify(most);
      if (!found) {
        ctx.toast("Classify has no points of two classes: put some on its plane first.");
        return;
      }
      set(found.points, boxAround(found.points));
      taken(found);
      begin("Points from Classify");
      ctx.toast(found.sentence);
    },
    clear() {
      set([], null);
      if (model.tool === "move" || model.tool === "erase") tool(0);
      begin("Clear");
      ctx.announce("All points erased");
    },
    shortcuts: [
      { key: "m", label: "A press on the plane moves points only", run: () => tool("move") },
      { key: "1", label: "A press adds a point of class 1", run: () => tool(0) },
      { key: "2", label: "A press adds a point of class 2", run: () => tool(1) },
      { key: "e", label: "A press erases points", run: () => tool("erase") },
    ],
  };
}

/** What has to be done before there is something to see; empty if nothing. @param {import("../points.js").Point[]} points */
export function missing(points) {
  const classes = new Set(points.map((p) => p.c));
  if (classes.size > 1) return "";
  if (classes.size === 0) return "No points yet: choose an example, or a class and press on the plane.";
  return `All points are of class ${[...classes][0] + 1}: choose the other one in the panel, and press on the plane.`;
}
