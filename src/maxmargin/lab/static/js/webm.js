/**
 * Writes a film in the WebM format: encoded pictures of VP8, each with its time.
 *
 * A file is a tree of elements (id, length, content): RFC 8794 (EBML) and RFC 9559 (Matroska), of which WebM is a part.
 */

const TIME_UNIT = 1_000_000; // nanoseconds: times are in milliseconds
const CLUSTER_MAX_MILLISECONDS = 30_000; // a block's time is two signed bytes from the beginning of its cluster
const text = new TextEncoder();

/** A whole number in so many bytes, the highest first. @returns {Uint8Array} */
function uint(value, length = 8) {
  const bytes = new Uint8Array(length);
  for (let k = length - 1, rest = value; k >= 0; k--, rest = Math.floor(rest / 256)) bytes[k] = rest % 256;
  return bytes;
}

function float(value) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  return bytes;
}

function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** An element; its length takes eight bytes, the first of which says so. @param {number} id @param {...Uint8Array} content */
function element(id, ...content) {
  const body = joined(content);
  const length = uint(body.length);
  length[0] = 1;
  return joined([uint(id, Math.ceil(id.toString(16).length / 2)), length, body]);
}

const HEADER = () =>
  element(
    0x1a45dfa3, // EBML
    element(0x4286, uint(1, 1)), // version, and the one needed to read it
    element(0x42f7, uint(1, 1)),
    element(0x42f2, uint(4, 1)), // bytes of the longest id, and of the longest length
    element(0x42f3, uint(8, 1)),
    element(0x4282, text.encode("webm")),
    element(0x4287, uint(4, 1)), // version of the format, and the one needed to read it
    element(0x4285, uint(2, 1)),
  );

/** Numbers of ITU-T H.273 for what browsers call the parts of a colour space. */
const MATRICES = { bt709: 1, smpte170m: 6 };
const TRANSFERS = { bt709: 1, smpte170m: 6, "iec61966-2-1": 13 };
const PRIMARIES = { bt709: 1, smpte170m: 6 };

/** How players make colours of the encoded numbers; without it each guesses. @param {VideoColorSpaceInit} [space] */
function colour({ matrix, transfer, primaries, fullRange } = {}) {
  const parts = [[0x55b1, MATRICES[matrix]], [0x55b9, fullRange ? 2 : 1], [0x55ba, TRANSFERS[transfer]], [0x55bb, PRIMARIES[primaries]]];
  return element(0x55b0, ...parts.filter(([, value]) => value).map(([id, value]) => element(id, uint(value, 1))));
}

/**
 * @param {{data: Uint8Array, time: number, key: boolean}[]} pictures times in milliseconds, increasing; the first is a key picture
 * @param {{width: number, height: number, duration: number, space?: VideoColorSpaceInit}} film
 * @returns {Blob}
 */
export function webm(pictures, { width, height, duration, space }) {
  const info = element(0x1549a966, element(0x2ad7b1, uint(TIME_UNIT, 4)), element(0x4489, float(duration)), element(0x4d80, text.encode("maxmargin")), element(0x5741, text.encode("maxmargin")));
  const video = element(0xe0, element(0xb0, uint(width, 2)), element(0xba, uint(height, 2)), ...(space ? [colour(space)] : []));
  const track = element(0xae, element(0xd7, uint(1, 1)), element(0x73c5, uint(1, 1)), element(0x83, uint(1, 1)), element(0x86, text.encode("V_VP8")), video);
  const head = [info, element(0x1654ae6b, track)];
  const clusters = clustersOf(pictures);
  // the table of contents stands before the clusters: its numbers have a fixed length, so its own length is known
  const before = head[0].length + head[1].length + cues(clusters, 0).length;
  const body = joined([...head, cues(clusters, before), ...clusters.map(({ bytes }) => bytes)]);
  return new Blob([HEADER(), element(0x18538067, body)], { type: "video/webm" });
}

/** Clusters of pictures, each beginning with a key picture where it can. */
function clustersOf(pictures) {
  const groups = /** @type {(typeof pictures)[]} */ ([]);
  for (const picture of pictures) {
    const group = groups.at(-1);
    if (!group || picture.key || picture.time - group[0].time > CLUSTER_MAX_MILLISECONDS) groups.push([picture]);
    else group.push(picture);
  }
  return groups.map((group) => {
    const [{ time }] = group;
    const block = (one) => element(0xa3, Uint8Array.of(0x81), uint(one.time - time, 2), Uint8Array.of(one.key ? 0x80 : 0), one.data);
    return { time, bytes: element(0x1f43b675, element(0xe7, uint(time)), ...group.map(block)) };
  });
}

/** Where each cluster is, so that players can jump. @param {number} before bytes of the segment before the first cluster */
function cues(clusters, before) {
  let at = before;
  const points = clusters.map(({ time, bytes }) => {
    const place = element(0xb7, element(0xf7, uint(1, 1)), element(0xf1, uint(at)));
    at += bytes.length;
    return element(0xbb, element(0xb3, uint(time)), place);
  });
  return element(0x1c53bb6b, ...points);
}
