/**
 * The page of a recorded run: one HTML file without a server. The element #data holds the runs, each as the request for
 * POST /api/trace and its answer.
 */

import { pointsOf } from "./classify/state.js";
import { byId } from "./dom.js";
import { expansion, kernelFunction, nodesOf } from "./local/kernels.js";
import { Run } from "./step/run.js";
import { createStage } from "./step/stage.js";
import { createTheme } from "./theme.js";

const { runs, sync, view } = JSON.parse(byId("data").textContent);
const theme = createTheme();
const points = pointsOf(runs[0].request.points);
const ctx = { settings: theme.settings, onSettings: theme.onSettings, palette: theme.palette, active: () => true };

/** f of a frame on the nodes of a grid. */
async function fetched({ points, kernel, alphas, intercept, view, grid }) {
  return expansion(kernelFunction(kernel), points.map(([x, y]) => [x, y]), alphas, intercept, nodesOf(view, ...grid));
}

const fixed = { points: () => [], tool: () => "move", changed() {}, say() {} }; // nothing can be dragged here
const stage = createStage(ctx, { editor: fixed, points: () => points, fetched, speed, moved() {}, rested() {} });

function speed(value) {
  stage.player.speed = value;
  stage.transport.refresh();
}

byId("run").append(...stage.root);
for (const pane of stage.panes) pane.plane.setBox(view);
runs.forEach(({ request, answer }, k) => stage.panes[k].load(new Run(answer, request), answer.solver));
stage.arrange({ two: runs.length > 1, sync }, { at: 0, share: 0 });
