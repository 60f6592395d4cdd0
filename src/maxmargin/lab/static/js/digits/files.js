/**
 * A picture file as a data URL for the server.
 *
 * A small PNG, JPEG or WebP goes as it is, and the server says what is wrong with it. A larger file, or one of another
 * kind that the browser can read, is drawn on a canvas first: requests have a limit.
 */

const SMALL = 3_000_000; // bytes; as base64 within the server's 5 MB
const MOST = 24_000_000;
const SIDE = 2048; // pixels: what the server would reduce it to anyway
const SENT = ["image/png", "image/jpeg", "image/webp"];

/** @param {File} file @returns {Promise<string>} rejects with a sentence for the user */
export async function readPicture(file) {
  if (file.size > MOST) throw new Error(`The picture has ${Math.round(file.size / 1e6)} MB, and ${MOST / 1e6} MB is the limit: reduce it first.`);
  if (file.size === 0) throw new Error("The file is empty: choose another one.");
  if (file.size <= SMALL && SENT.includes(file.type)) return dataUrl(file);
  return reduced(file);
}

function dataUrl(file) {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(/** @type {string} */ (reader.result));
    reader.onerror = () => fail(new Error("The file could not be read: choose it again."));
    reader.readAsDataURL(file);
  });
}

async function reduced(file) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error("This file cannot be read as a picture: choose a PNG or JPEG file.");
  }
  const scale = Math.min(1, SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const g = canvas.getContext("2d");
  g.fillStyle = "#ffffff"; // JPEG has no transparency
  g.fillRect(0, 0, canvas.width, canvas.height);
  g.imageSmoothingQuality = "high";
  g.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL("image/jpeg", 0.92);
}

/** A data URL to paint. @param {string} url @returns {Promise<HTMLImageElement|null>} */
export async function imageOf(url) {
  const image = new Image();
  image.src = url;
  try {
    await image.decode();
    return image;
  } catch {
    return null;
  }
}
