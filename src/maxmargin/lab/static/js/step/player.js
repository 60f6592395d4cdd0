/**
 * The clock of a run: play, pause, steps, and the movement from one frame to the next.
 *
 * A tick is a frame of the run, at step times[tick]: later frames are some steps apart. The run plays at `speed` steps a
 * second; above `FASTEST` pictures a second some are left out. Between two ticks the picture moves for a part of the interval, unless the user asked for less motion. A picture that is not there yet is
 * waited for, but not for long.
 */

import { HELD, PICTURE } from "../film.js";

const FASTEST = 20; // pictures a second
const MOVE = 260; // milliseconds of a movement at most
const PATIENCE = 500; // milliseconds that a picture is waited for

export const SPEEDS = [0.5, 1, 2, 4, 8, 16, 64, 256, 1024]; // steps a second

/** A movement that begins and ends slowly. */
const eased = (t) => t * t * (3 - 2 * t);

export class Player {
  /**
   * @param {{still: () => boolean, ready: (tick: number) => boolean, show: (from: number, to: number, t: number) => void,
   *          changed: () => void}} host `show` paints what is t of the way between two ticks; `changed` is told when the
   *          tick, the length or playing changes
   */
  constructor(host) {
    this.host = host;
    this.at = 0;
    this.times = /** @type {number[]} */ ([]); // the step of each tick
    this.speed = 4;
    this.playing = false;
    this.move = /** @type {{from: number, began: number, lasts: number}|null} */ (null);
    this.due = 0;
    this.frame = 0;
  }

  get length() {
    return this.times.length;
  }

  /** The tick of the next picture: as far on as the speed asks for, and one at least. */
  after(tick) {
    const reach = (this.times[tick] ?? 0) + this.speed / FASTEST;
    let to = tick + 1;
    while (to < this.end && this.times[to + 1] <= reach) to += 1;
    return Math.min(this.end, to);
  }

  /** Milliseconds from one tick to another. */
  lasting(from, to) {
    return (1000 * ((this.times[to] ?? 0) - (this.times[from] ?? 0))) / this.speed;
  }

  get end() {
    return Math.max(0, this.length - 1);
  }

  /** Another run. @param {number[]} times the step of each of its ticks @param {number} at */
  load(times, at) {
    this.times = times;
    this.go(at);
  }

  play() {
    if (this.length < 2 || this.playing) return;
    if (this.at >= this.end) this.go(0);
    this.playing = true;
    this.due = performance.now() + Math.min(300, this.lasting(this.at, this.after(this.at)));
    this.host.changed();
    this.wake();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.host.changed();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  /** One tick on or back, by hand. */
  step(by) {
    this.pause();
    this.go(this.at + by, true);
  }

  /** To a tick; `moving` for the next one, which is near enough to move there. */
  go(tick, moving = false) {
    const to = Math.max(0, Math.min(this.end, Math.round(tick) || 0));
    const from = this.at;
    this.at = to;
    this.move = null;
    if (moving && from !== to && !this.host.still()) {
      const lasts = this.playing ? Math.min(MOVE, 0.7 * this.lasting(from, to)) : MOVE;
      this.move = { from, began: performance.now(), lasts };
      this.wake();
    } else this.host.show(to, to, 1);
    this.host.changed();
  }

  /** The pictures of a film of the run: what is t of the way between two ticks, and for how many milliseconds. */
  *pictures() {
    yield { from: 0, to: 0, t: 1, lasts: this.lasting(0, this.after(0)) };
    for (let from = 0; from < this.end; ) {
      const to = this.after(from);
      const lasts = to < this.end ? this.lasting(to, this.after(to)) : HELD;
      const moves = this.host.still() ? 1 : Math.max(1, Math.floor(Math.min(MOVE, 0.7 * lasts) / PICTURE));
      for (let j = 1; j < moves; j++) yield { from, to, t: eased(j / moves), lasts: PICTURE };
      yield { from, to, t: 1, lasts: lasts - (moves - 1) * PICTURE };
      from = to;
    }
  }

  wake() {
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.beat(now));
  }

  beat(now) {
    this.frame = 0;
    if (this.move) {
      const t = Math.max(0, Math.min(1, (now - this.move.began) / this.move.lasts));
      this.host.show(this.move.from, this.at, eased(t));
      if (t === 1) this.move = null;
    }
    if (this.playing && now >= this.due) {
      if (this.at >= this.end) this.pause();
      else {
        const next = this.after(this.at);
        if (now > this.due + PATIENCE || this.host.ready(next)) {
          this.go(next, true);
          this.due = now + this.lasting(next, this.after(next));
        }
      }
    }
    if (this.playing || this.move) this.wake();
  }
}
