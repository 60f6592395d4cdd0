/**
 * The eye on a cube with sides from -1 to 1: turned by the azimuth a about the upright axis, and raised by the elevation e.
 *
 *     right = x cos a - y sin a,      u = x sin a + y cos a,
 *     up    = z cos e + u sin e,      near = z sin e - u cos e,
 *
 * on the screen magnified by D / (D - near): what is near is larger.
 */

const D = 5.5; // distance of the eye from the middle
const LOWEST = 0.06;
const HIGHEST = Math.PI / 2;

/** @typedef {[number, number, number]} Vector */
/** @typedef {{x: number, y: number, near: number, scale: number}} Place  on the screen */

export class Camera {
  constructor() {
    this.azimuth = 0.6;
    this.elevation = 0.42;
    this.zoom = 1;
    this.fit(100, 100);
  }

  /** The size of the screen in pixels; the cube's corners stay inside. */
  fit(width, height) {
    this.width = width;
    this.height = height;
    this.unit = Math.min(width / 3.55, height / 3.75);
  }

  turn(right, up) {
    this.azimuth = (this.azimuth + right) % (2 * Math.PI);
    this.elevation = Math.max(LOWEST, Math.min(HIGHEST, this.elevation + up));
  }

  /** Angles to turn with, once for all points of a picture. */
  look() {
    const [ca, sa, ce, se] = [Math.cos(this.azimuth), Math.sin(this.azimuth), Math.cos(this.elevation), Math.sin(this.elevation)];
    const unit = this.unit * this.zoom;
    const [cx, cy] = [this.width / 2, this.height / 2];
    /** @param {Vector} p @returns {Place} */
    return ([x, y, z]) => {
      const u = x * sa + y * ca;
      const near = z * se - u * ce;
      const scale = D / (D - near);
      return { x: cx + unit * scale * (x * ca - y * sa), y: cy - unit * scale * (z * ce + u * se), near, scale };
    };
  }
}
