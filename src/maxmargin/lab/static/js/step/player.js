/**
 * The clock of a run: play, pause, steps, and the movement from one frame to the next.
 *
 * Ticks are shown at `speed` a second; above `FASTEST` pictures a second some are left out. Between two ticks the
 * picture moves for a part of the interval, unless the user asked for less motion. A picture that is not there yet is
 * waited for, but not for long.
 */

const FASTEST = 20; // pictures a second
const MOVE = 260; // milliseconds of a movement at most
const PATIENCE = 500; // milliseconds that a picture is waited for

export const SPEEDS = [0.5, 1, 2, 4, 8, 16, 32, 64];

export class Player {
  /**
   * @param {{still: () => boolean, ready: (tick: number) => boolean, show: (from: number, to: number, t: number) => void,
   *          changed: () => void}} host `show` paints what is t of the way between two ticks; `changed` is told when the
   *          tick, the length or playing changes
   */
  constructor(host) {
    this.host = host;
    this.at = 0;
    this.length = 0;
    this.speed = 4;
    this.playing = false;
    this.move = /** @type {{from: number, began: number, lasts: number}|null} */ (null);
    this.due = 0;
    this.frame = 0;
  }

  /** Ticks that one picture goes on by. */
  get stride() {
    return Math.max(1, Math.ceil(this.speed / FASTEST));
  }

  get end() {
    return Math.max(0, this.length - 1);
  }

  /** Another run. @param {number} length of it in ticks @param {number} at */
  load(length, at) {
    this.length = length;
    this.go(at);
  }

  play() {
    if (this.length < 2 || this.playing) return;
    if (this.at >= this.end) this.go(0);
    this.playing = true;
    this.due = performance.now() + Math.min(300, 1000 / this.speed);
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
      const lasts = this.playing ? Math.min(MOVE, (700 * this.stride) / this.speed) : MOVE;
      this.move = { from, began: performance.now(), lasts };
      this.wake();
    } else this.host.show(to, to, 1);
    this.host.changed();
  }

  wake() {
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.beat(now));
  }

  beat(now) {
    this.frame = 0;
    if (this.move) {
      const t = Math.max(0, Math.min(1, (now - this.move.began) / this.move.lasts));
      this.host.show(this.move.from, this.at, t * t * (3 - 2 * t));
      if (t === 1) this.move = null;
    }
    if (this.playing && now >= this.due) {
      if (this.at >= this.end) this.pause();
      else if (now > this.due + PATIENCE || this.host.ready(Math.min(this.end, this.at + this.stride))) {
        this.due = now + (1000 * this.stride) / this.speed;
        this.go(this.at + this.stride, true);
      }
    }
    if (this.playing || this.move) this.wake();
  }
}
