/**
 * Calls to the server, all on this computer.
 *
 * Every call carries X-Page, a name for this page, so that the server can drop work that the same page has overtaken.
 * A call on a channel cancels the earlier one on that channel. What goes wrong comes back as an Error whose message is
 * a sentence for the user; `field` names the control it belongs to; a cancelled or overtaken call has the name
 * "AbortError", which callers pass over (`overtaken`).
 */

export class ApiError extends Error {
  /** @param {string} message @param {number} status @param {string|null} [field] */
  constructor(message, status, field = null) {
    super(message);
    this.name = status === 409 ? "AbortError" : "ApiError";
    this.status = status;
    this.field = field;
  }
}

/** Whether an error only says that a newer call took this one's place. */
export const overtaken = (error) => error?.name === "AbortError";

const page = Array.from(crypto.getRandomValues(new Uint8Array(9)), (b) => b.toString(36).padStart(2, "0")).join("");

/**
 * @param {(state: "running"|"stopped"|"stranger") => void} onServer told after every call
 */
export function createApi(onServer) {
  /** @type {Map<string, AbortController>} */
  const channels = new Map();

  async function request(path, body, { channel, signal, method } = {}) {
    const controller = new AbortController();
    if (channel) {
      channels.get(channel)?.abort();
      channels.set(channel, controller);
    }
    signal?.addEventListener("abort", () => controller.abort(), { once: true });
    if (signal?.aborted) controller.abort();
    const headers = { "X-Page": page, Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(path, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: controller.signal,
        cache: "no-store",
      });
    } catch (error) {
      if (overtaken(error)) throw error;
      onServer("stopped");
      throw new ApiError("The server does not answer.", 0);
    }
    if (response.status === 401 || response.status === 403) onServer("stranger");
    else onServer("running");
    if (!response.ok) {
      const told = await response.json().catch(() => ({}));
      throw new ApiError(told.error ?? `The server answered ${response.status}.`, response.status, told.field ?? null);
    }
    return response;
  }

  /**
   * Asks the server: GET without a body, POST with one. Resolves to the answer's JSON.
   * @param {string} path
   * @param {any} [body]
   * @param {{channel?: string, signal?: AbortSignal, method?: string}} [options]
   */
  async function api(path, body, options) {
    const response = await request(path, body, options);
    return response.status === 204 ? null : response.json();
  }

  /**
   * Server-sent events of a path, until the server ends them or the signal is given. (EventSource would do, but it
   * sends no headers and begins again by itself.)
   * @param {string} path
   * @param {(name: string, data: any) => void} onEvent
   * @param {{signal?: AbortSignal}} [options]
   */
  api.events = async (path, onEvent, options) => {
    const response = await request(path, undefined, options);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const lines = block.split("\n");
        const name = lines.find((line) => line.startsWith("event:"))?.slice(6).trim() ?? "message";
        const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
        if (data) onEvent(name, JSON.parse(data));
      }
    }
  };

  return api;
}

/** Base64 of little-endian float32, as the server sends grids. @param {string} text @returns {Float32Array} */
export const floats = (text) => new Float32Array(bytes(text).buffer);

/** Base64 of bytes. @param {string} text @returns {Uint8Array} */
export const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
