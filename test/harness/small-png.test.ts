import { expect, test } from "bun:test";
import { deflateSync } from "node:zlib";
import { smallPng } from "./small-png.ts";

/** A picture as a browser writes it, with the filter `kind` in each row. */
function picture(width: number, height: number, kind: number, colorOf: (x: number, y: number) => number[]) {
  const raw = Buffer.alloc((width * 3 + 1) * height);
  const at = (x: number, y: number, part: number) => (x < 0 || y < 0 ? 0 : (colorOf(x, y)[part] ?? 0));
  for (let y = 0; y < height; y++) {
    raw[y * (width * 3 + 1)] = kind;
    for (let x = 0; x < width; x++) {
      for (let part = 0; part < 3; part++) {
        const before = [0, at(x - 1, y, part), at(x, y - 1, part)][kind] ?? 0;
        raw[y * (width * 3 + 1) + 1 + x * 3 + part] = (at(x, y, part) - before) & 0xff;
      }
    }
  }
  const chunk = (name: string, data: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(name), data, Buffer.alloc(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.alloc(8),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(raw)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const colors = (png: Buffer) => {
  const at = png.indexOf("PLTE");
  return png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4));
};

test.each([0, 1, 2])("few colors stay as they are, filter %d", (kind) => {
  const small = smallPng(picture(8, 2, kind, (x, y) => (y === 0 ? [255, 128, x < 4 ? 0 : 1] : [7, 7, 7])));
  expect([...colors(small)]).toEqual([7, 7, 7, 255, 128, 0, 255, 128, 1]);
});

test("of many colors the nearest stay, and those of surfaces are exact", () => {
  const small = smallPng(picture(64, 64, 1, (x, y) => (y === 0 ? [0x43, 0x38, 0xca] : [x * 4, y * 4, 128])));
  expect(colors(small).length).toBeLessThanOrEqual(256 * 3);
  expect([...colors(small).subarray(0, 3)]).toEqual([0x43, 0x38, 0xca]);
});

test("what is no such picture is refused", () => {
  expect(() => smallPng(Buffer.alloc(64))).toThrow("not a picture as browsers write it");
});
