/** Two fingers on a canvas: how far they spread, and where the middle between them goes. */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{
 *   begin: () => void,                        a second finger has come: what the first one did is to be taken back
 *   moved: (factor: number, from: [number, number], to: [number, number]) => void,   the spread grew by this factor, and
 *                                             the middle went from one place of the canvas to another
 *   ended: () => void,
 * }} host
 * @returns {{readonly active: boolean}} active until the last finger is up, so that it does not draw on its way
 */
export function watchPinch(canvas, { begin, moved, ended }) {
  const fingers = /** @type {Map<number, [number, number]>} */ (new Map());
  let active = false;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return /** @type {[number, number]} */ ([event.clientX - box.left, event.clientY - box.top]);
  };
  /** Middle and spread. */
  const measured = () => {
    const [[x, y], [u, v]] = [...fingers.values()];
    return { middle: /** @type {[number, number]} */ ([(x + u) / 2, (y + v) / 2]), spread: Math.max(1, Math.hypot(x - u, y - v)) };
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, place(event));
    if (fingers.size !== 2 || active) return;
    active = true;
    canvas.setPointerCapture(event.pointerId);
    begin();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = fingers.size === 2 ? measured() : null;
    fingers.set(event.pointerId, place(event));
    if (!active || !before) return;
    const now = measured();
    moved(now.spread / before.spread, before.middle, now.middle);
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(kind, (event) => {
      if (!fingers.delete(event.pointerId) || fingers.size || !active) return;
      active = false;
      ended();
    });
  }
  return {
    get active() {
      return active;
    },
  };
}
