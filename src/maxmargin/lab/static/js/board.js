/**
 * The plane of Classify and Regression: points that are clicked, dragged, pasted and cleared, the buttons in its corner,
 * and its part of the tab's state.
 */

import { popup, ticks } from "./controls.js";
import { hiddenOf, showAllBut, viewOf } from "./data.js";
import { el, iconButton } from "./dom.js";
import { Plane } from "./plot.js";
import { PointEditor, ofPoints, pointActions } from "./points.js";

const REST = 120; // milliseconds until a change of the view counts as finished

/**
 * @param {any} ctx
 * @param {{
 *   model: {points: import("./points.js").Point[], tool: any, show: Record<string, boolean>},
 *   data: {MOST: number, HOME: any, SHOWN: Record<string, string>, pointsOf: (rows: any) => any[], rowOf: (point: any) => number[],
 *          boxOf: (view: any) => any, boxAround: (points: any[]) => any},   the tab's own kind of points
 *   label: string, equal?: boolean, hints: HTMLElement[],
 *   layers: (picture: any) => any[],      of the plane; the picture has show, points(), hover(), and what `picture` has
 *   picture: any,
 *   brush?: () => number,                 the class of a new point
 *   ask: (live: boolean) => void,         asks the server anew; live while the hand is still down
 *   example: (id: string) => void,        the example on the screen; "": the points are no longer those of one
 *   hovered: (at: any) => void,           as for PointEditor
 *   viewed?: () => void,                  the view is another one
 *   shown?: () => void,                   something is shown or hidden
 * }} host
 */
export function createBoard(ctx, host) {
  const { model, data } = host;
  const keys = "Arrow keys move the cursor, Enter adds a point, Space takes one, Delete erases, n and p go from point to point.";
  const canvas = el("canvas", { role: "application", "aria-label": `${host.label}. ${keys}` });
  const plane = new Plane(canvas, { ctx, box: { ...data.HOME }, equal: host.equal ?? true, onView: viewChanged });
  const editor = new PointEditor(plane, { ...pointActions(ctx, model, data.MOST, host.brush ?? (() => 0)), changed, hovered: host.hovered });
  const own = { show: model.show, points: () => model.points, hover: () => editor.hover };
  const picture = Object.defineProperties(own, Object.getOwnPropertyDescriptors(host.picture));
  plane.layers = [...host.layers(picture), (g, frame, palette) => g.canvas === canvas && editor.paintCursor(g, frame, palette)];
  const shows = ticks(data.SHOWN, model.show, () => {
    host.shown?.();
    plane.redraw();
    ctx.commit("Show or hide");
  });
  const [zoomIn, zoomOut] = [1.25, 0.8].map((factor) => () => plane.zoom(factor));
  const buttons = [iconButton("+", "Zoom in", zoomIn), iconButton("−", "Zoom out", zoomOut), iconButton("⤢", "Show all points", showAll)];
  const corner = el("div", { class: "corner" }, ...buttons, popup("Show", shows.root).root);
  let asked = ""; // view of the last request, and whether it was a live one
  let timer = 0;

  const request = (live) => JSON.stringify([plane.frame.view, live]);

  function ask(live) {
    asked = request(live);
    host.ask(live);
  }

  /** After every change: asks the server, and at the end of the gesture records a step of undo. */
  function changed(label, live) {
    ask(live);
    plane.redraw();
    if (live) ctx.touch();
    else if (label) {
      if (ofPoints(label)) host.example("");
      ctx.commit(label);
    }
  }

  function setPoints(points, box) {
    model.points = points;
    plane.setBox(box);
    if (editor.hover) editor.point(null);
  }

  /** Other points in the place of all. */
  function replace(points, box, label, example = "") {
    setPoints(points, box);
    host.example(example);
    changed("", false);
    ctx.commit(label, { landmark: true });
  }

  function clear() {
    replace([], plane.box, "Clear");
    ctx.announce("All points erased");
  }

  /** A table from the clipboard. */
  async function paste(text) {
    const { points, sentence } = await ctx.api("/api/paste", { text }, { channel: "paste" });
    const found = data.pointsOf(points);
    replace(found, data.boxAround(found), "Paste points");
    ctx.toast(sentence);
  }

  function showAll() {
    plane.setBox(data.boxAround(model.points));
  }

  function viewChanged() {
    host.viewed?.();
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!ctx.active()) return;
      if (asked !== request(false)) ask(false);
      ctx.commit("Change the view"); // nothing to undo where only the window has another size
    }, REST);
  }

  return {
    root: el("div", { class: "plot" }, canvas, corner, ...host.hints),
    plane,
    editor,
    changed,
    replace,
    clear,
    paste,
    ids: () => model.points.map((point) => point.id),
    rows: () => model.points.map(data.rowOf),
    /** The board's part of the tab's state, and the same back. */
    state: () => ({ points: model.points.map(data.rowOf), view: viewOf(plane.box), hidden: hiddenOf(model.show) }),
    restore({ points, view, hidden }) {
      showAllBut(model.show, hidden);
      shows.refresh();
      setPoints(data.pointsOf(points), data.boxOf(view));
    },
    shortcuts: [
      { key: "+", label: "Zoom in", run: zoomIn },
      { key: "-", label: "Zoom out", run: zoomOut },
      { key: "0", label: "Show all points", run: showAll },
      { key: "←↑→↓", label: "In the plane: move the cursor (with Shift: farther)" },
      { key: "Enter", label: "In the plane: add a point" },
      { key: "Space", label: "In the plane: take the point under the cursor, or drop it" },
      { key: "Delete", label: "In the plane: erase the point under the cursor" },
      { key: "n, p", label: "In the plane: next and previous point" },
    ],
  };
}
