import { expect, test } from "bun:test";
import fc from "fast-check";
import { captureEnds, wholeCharacters } from "./capture.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("short output is complete, for any chunk sizes", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 20 }), { maxLength: 5 }), (parts) => {
      const capture = captureEnds(1_000);
      for (const byte of bytes(parts.join(""))) capture.add(Uint8Array.of(byte));
      expect(capture.text()).toEqual({ text: parts.join(""), omitted: 0 });
    }),
  );
});

test("head, tail and omitted bytes add up, and no character is split", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "grapheme", maxLength: 40 }), { maxLength: 40 }),
      fc.integer({ min: 8, max: 64 }),
      (parts, limit) => {
        const capture = captureEnds(limit);
        for (const part of parts) capture.add(bytes(part));
        const whole = parts.join("");
        const { text, omitted } = capture.text();
        if (omitted === 0) {
          expect(text).toBe(whole);
          return;
        }
        const marker = `\n[${omitted} bytes left out]\n`;
        const at = text.indexOf(marker);
        const [head, tail] = [text.slice(0, at), text.slice(at + marker.length)];
        expect(whole.startsWith(head)).toBe(true);
        expect(whole.endsWith(tail)).toBe(true);
        expect(bytes(head).length + bytes(tail).length + omitted).toBe(bytes(whole).length);
        expect(bytes(head).length).toBeLessThanOrEqual(Math.ceil(limit / 2));
        expect(bytes(head).length).toBeGreaterThan(Math.ceil(limit / 2) - 4);
        expect(bytes(tail).length).toBeGreaterThan(Math.ceil(limit / 2) - 4);
      },
    ),
  );
});

test("one chunk larger than the limit is cut as well", () => {
  const capture = captureEnds(8);
  capture.add(bytes("abcdefghijklmnop"));
  expect(capture.text()).toEqual({ text: "abcd\n[8 bytes left out]\nmnop", omitted: 8 });
});

test("invalid UTF-8 becomes replacement characters", () => {
  const capture = captureEnds(100);
  capture.add(Uint8Array.of(0x61, 0xff, 0x80, 0x62));
  expect(capture.text().text).toBe("a\ufffd\ufffdb");
});

test.each([
  [[0x61], 1],
  [[0x61, 0xc3], 1],
  [[0xc3, 0xa9], 2],
  [[0xe2, 0x82], 0],
  [[0xf0, 0x9f, 0x98], 0],
  [[0xf0, 0x9f, 0x98, 0x80], 4],
  [[0x80, 0x80, 0x80, 0x80, 0x80], 5],
  [[], 0],
])("%p holds whole characters up to %p", (input, length) => {
  expect(wholeCharacters(Uint8Array.from(input))).toBe(length);
});
