import { deflateSync, inflateSync } from "node:zlib";

// Pictures of the documentation are kept in the repository: a palette makes them a third as large. A page has few
// colors, so that nobody sees the difference.

const signature = Buffer.from("89504e470d0a1a0a", "hex");
const max = 256;

/**
 * A PNG with at most 256 colors: those of the picture, or the nearest when it has more.
 *
 * @param png 8 bits in each of three or four channels, not interlaced, as browsers write it
 * @throws when it is another one
 */
export function smallPng(png: Uint8Array): Buffer {
  const { width, height, pixels } = readPng(Buffer.from(png));
  return writePng(width, height, indexColors(pixels));
}

function readPng(png: Buffer): { width: number; height: number; pixels: Buffer } {
  const parts: Buffer[] = [];
  let header: Buffer | undefined;
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const kind = png.toString("latin1", at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (kind === "IHDR") header = data;
    if (kind === "IDAT") parts.push(data);
    at += length + 12;
  }
  const [depth, color, , , interlace] = header?.subarray(8) ?? [];
  const channels = color === 2 ? 3 : color === 6 ? 4 : 0;
  if (header === undefined || depth !== 8 || channels === 0 || interlace !== 0)
    throw new Error("not a picture as browsers write it");
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const pixels = Buffer.alloc(width * height * 3);
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1);
    const row = Buffer.from(raw.subarray(start + 1, start + 1 + stride));
    unfilter(raw[start] ?? 0, row, above, channels);
    for (let x = 0; x < width; x++) {
      const from = x * channels;
      const to = (y * width + x) * 3;
      pixels[to] = row[from] ?? 0;
      pixels[to + 1] = row[from + 1] ?? 0;
      pixels[to + 2] = row[from + 2] ?? 0;
    }
    above = row;
  }
  return { width, height, pixels };
}

/** PNG, section 9.2, in place. Millions of bytes: nothing is made for one of them. */
function unfilter(kind: number, row: Buffer, above: Buffer, step: number): void {
  for (let at = 0; at < row.length; at++) {
    const left = at < step ? 0 : (row[at - step] ?? 0);
    const up = above[at] ?? 0;
    let add = 0;
    if (kind === 1) add = left;
    else if (kind === 2) add = up;
    else if (kind === 3) add = (left + up) >> 1;
    else if (kind === 4) add = paeth(left, up, at < step ? 0 : (above[at - step] ?? 0));
    row[at] = ((row[at] ?? 0) + add) & 0xff;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const a = Math.abs(up - corner);
  const b = Math.abs(left - corner);
  const c = Math.abs(left + up - 2 * corner);
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** The most frequent colors stay as they are: those of surfaces, not those of the edges of letters. */
function indexColors(pixels: Buffer): { palette: Buffer; indices: Buffer } {
  const colors = new Uint32Array(pixels.length / 3);
  const counts = new Map<number, number>();
  for (let at = 0; at < colors.length; at++) {
    const color =
      ((pixels[at * 3] ?? 0) << 16) | ((pixels[at * 3 + 1] ?? 0) << 8) | (pixels[at * 3 + 2] ?? 0);
    colors[at] = color;
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const kept = [...counts].toSorted(([, one], [, other]) => other - one).slice(0, max);
  const chosen = kept.map(([color]) => color);
  const places = new Map([...counts.keys()].map((color) => [color, nearest(chosen, color)]));
  const palette = Buffer.alloc(chosen.length * 3);
  for (const [place, color] of chosen.entries()) palette.writeUIntBE(color, place * 3, 3);
  return { palette, indices: Buffer.from(Array.from(colors, (color) => places.get(color) ?? 0)) };
}

function nearest(colors: readonly number[], wanted: number): number {
  let [best, min] = [0, Number.POSITIVE_INFINITY];
  for (const [place, color] of colors.entries()) {
    const red = (color >> 16) - (wanted >> 16);
    const green = ((color >> 8) & 0xff) - ((wanted >> 8) & 0xff);
    const blue = (color & 0xff) - (wanted & 0xff);
    const far = red * red + green * green + blue * blue;
    if (far < min) [best, min] = [place, far];
  }
  return best;
}

function writePng(
  width: number,
  height: number,
  { palette, indices }: { palette: Buffer; indices: Buffer },
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) indices.copy(rows, y * (width + 1) + 1, y * width, (y + 1) * width);
  const data = deflateSync(rows, { level: 9 });
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", palette),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(data.length, 0);
  around.writeUInt32BE(Bun.hash.crc32(body), 4);
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)]);
}
