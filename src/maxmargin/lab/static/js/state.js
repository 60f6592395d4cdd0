/**
 * What the page remembers: undo and redo of each tab, the state in the address, and a copy in the browser's storage.
 *
 * The address is #d.<data> or #j.<data>: the state's JSON, deflated (d) or plain (j), in base64url. States are plain
 * data; whoever opens a link may have been sent it by a stranger, so each tab checks what setState is given.
 */

const STORE = "maxmargin-lab";
const LONGEST_LINK = 60_000; // characters; browsers take more, mail and chat programs do not
const LARGEST_STATE = 4_000_000; // characters of JSON that a link may unpack to

/** Undo and redo over JSON snapshots of one tab's state. */
export class History {
  constructor(limit = 300) {
    this.limit = limit;
    this.entries = /** @type {{label: string, state: string}[]} */ ([]);
    this.at = -1;
  }

  /**
   * Records a state after the change `label`; nothing happens if it is the state we are at. Without a label it takes the
   * place of that state: there is nothing to undo.
   * @returns {boolean} whether something was recorded
   */
  push(label, state) {
    const text = JSON.stringify(state);
    if (this.entries[this.at]?.state === text) return false;
    if (!label && this.at >= 0) {
      this.entries[this.at].state = text;
      return true;
    }
    this.entries.length = this.at + 1;
    this.entries.push({ label, state: text });
    if (this.entries.length > this.limit) this.entries.shift();
    this.at = this.entries.length - 1;
    return true;
  }

  /** What undo would take back, or null. */
  get undoLabel() {
    return this.at > 0 ? this.entries[this.at].label : null;
  }

  /** What redo would bring back, or null. */
  get redoLabel() {
    return this.entries[this.at + 1]?.label ?? null;
  }

  /** Goes one step back (-1) or forward (+1). @param {-1|1} step @returns {any} the state there, or null */
  step(step) {
    if (!this.entries[this.at + step]) return null;
    this.at += step;
    return JSON.parse(this.entries[this.at].state);
  }
}

/** State to the part of an address after "#"; null if it is too long for one. @returns {Promise<string|null>} */
export async function encode(state) {
  const text = JSON.stringify(state);
  let link = "j." + base64url(new TextEncoder().encode(text));
  if (typeof CompressionStream === "function") {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    link = "d." + base64url(new Uint8Array(await new Response(stream).arrayBuffer()));
  }
  return link.length <= LONGEST_LINK ? link : null;
}

/** The state in such a part of an address; null if there is none or it is broken. @returns {Promise<any>} */
export async function decode(fragment) {
  const [, kind, data] = /^#?([dj])\.([\w-]+)$/.exec(fragment) ?? [];
  if (!kind) return null;
  try {
    const bytes = Uint8Array.from(atob(data.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const state = JSON.parse(kind === "d" ? await inflate(bytes) : new TextDecoder().decode(bytes));
    return state !== null && typeof state === "object" ? state : null;
  } catch {
    return null;
  }
}

async function inflate(bytes) {
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"))
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length > LARGEST_STATE) throw new RangeError("the link holds too much");
  }
}

function base64url(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Keeps a copy that survives the address, the tab and the server. */
export function store(key, value) {
  try {
    localStorage.setItem(`${STORE}.${key}`, JSON.stringify(value));
  } catch {
    // private windows and full disks have no storage: the address still holds the state
  }
}

/** The copy, or null. @returns {any} */
export function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(`${STORE}.${key}`) ?? "null");
  } catch {
    return null;
  }
}
