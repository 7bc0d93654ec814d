import { expect, test } from "bun:test";
import { formatByteSize, parseByteSize, sizeText } from "./byte-size.ts";

test("a size is a whole number of bytes, or with a unit", () => {
  expect(["0", "1000", "4096KiB", "64MiB", "8GiB", "8 GiB"].map(parseByteSize)).toEqual([
    0, 1000, 4_194_304, 67_108_864, 8_589_934_592, 8_589_934_592,
  ]);
  for (const bad of ["", "1.5GiB", "8GB", "8G", "-1", "1e3", "MiB", "999999999999999GiB", "1\n"]) {
    expect(() => parseByteSize(bad)).toThrow("write a whole number of bytes, or with KiB, MiB or GiB");
  }
});

test("what is formatted is read back as the same number", () => {
  expect([0, 1000, 1536, 67_108_864, 8_589_934_592].map(formatByteSize)).toEqual([
    ...["0", "1000", "1536", "64MiB", "8GiB"],
  ]);
  for (const bytes of [0, 1, 1024, 1536, 1_048_577]) expect(parseByteSize(formatByteSize(bytes))).toBe(bytes);
});

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_536, "1.5 KiB"],
  [2_097_152, "2 MiB"],
  [24_000_000_000, "22.4 GiB"],
  [48_350_000_000, "45 GiB"],
  [180_000_000_000, "168 GiB"],
  [9e18, "7994 PiB"],
])("%d bytes are about %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
