import { expect, test } from "bun:test";
import { commaLength, idsWithin, inParts, targetOf } from "./in-parts.ts";

const ids = (count: number, length: number) =>
  Array.from({ length: count }, (_, at) => String(at).padStart(length, "x"));

async function partsOf(all: readonly string[], max?: number): Promise<string[][]> {
  const parts: string[][] = [];
  await inParts(
    all,
    commaLength,
    async (part) => {
      parts.push(part);
      return part;
    },
    max,
  );
  return parts;
}

test("ids are read in parts of at most 100, each id once and in order", async () => {
  const all = ids(230, 8);
  const parts = await partsOf(all);
  expect(parts.map(({ length }) => length)).toEqual([100, 100, 30]);
  expect(parts.flat()).toEqual(all);
});

test.each(["", "web-*", `G@os:${"ä".repeat(500)}`, "x".repeat(4_000)])(
  "long ids within a target are never longer than a target may be: %#",
  async (target) => {
    const all = ids(120, 63);
    const parts = await partsOf(all, idsWithin(target));
    expect(parts.flat()).toEqual(all);
    for (const part of parts) {
      const bytes = Buffer.byteLength(targetOf(part, target));
      // One id has no shorter way to be named.
      expect(part.length === 1 || bytes <= 4_096).toBe(true);
    }
  },
);
