import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../base/msgpack.ts";
import { createFactPacker, FactMap, type FactValue } from "./fact-map.ts";

/** The content of a packed value, as plain data. */
function plainOf(value: FactValue): Plain {
  if (value instanceof FactMap) {
    return Object.fromEntries(value.keys.map((key, at) => [key, plainOf(value.values[at] ?? "missing")]));
  }
  return typeof value === "object" ? value.map(plainOf) : value;
}

/** The same without null and binary values. */
function kept(value: Plain): Plain | undefined {
  if (value === null || value instanceof Uint8Array) return undefined;
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(kept).filter((item) => item !== undefined);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (kept(item) === undefined ? [] : [[key, kept(item)]])),
  ) as Plain;
}

const plain = fc.letrec<{ value: Plain }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Plain>(null, true, 1, 2.5, "a", "b", "1", "a,b", new Uint8Array([1])),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "length", "a,b"), tie("value"), { maxKeys: 4 }),
  ),
})).value;
const facts = fc
  .dictionary(fc.string({ maxLength: 4 }), plain, { maxKeys: 5 })
  .map((map) => ({ ...map }) as Plain);

test("facts are unchanged, regardless of earlier peels, also with a small pool", () => {
  const small = createFactPacker(4);
  const large = createFactPacker();
  fc.assert(
    fc.property(facts, (sent) => {
      for (const packer of [small, large]) {
        const { facts: packed, cut } = packer.pack(sent);
        expect(plainOf(packed)).toEqual(kept(sent) as Plain);
        expect(cut).toBe(false);
      }
    }),
    { numRuns: 1_000 },
  );
});

test("peels share equal values", () => {
  const packer = createFactPacker();
  const one = packer.pack({ os: "Debian", flags: ["fpu", "vme"], id: 1 }).facts;
  const two = packer.pack({ os: "Debian", flags: ["fpu", "vme"], id: 2 }).facts;
  expect(two.keys).toBe(one.keys);
  expect(two.values[1]).toBe(one.values[1] ?? "");
});

test("the size of one peel is limited, and the rest of its facts is kept", () => {
  const packer = createFactPacker();
  const long = packer.pack({ a: "x".repeat(1_025), b: "x".repeat(1_024) });
  expect([plainOf(long.facts), long.cut]).toEqual([{ b: "x".repeat(1_024) }, true]);

  const many = packer.pack({ list: Array.from({ length: 10_000 }, (_, i) => i), after: 1 });
  expect([many.facts.keys, many.cut]).toEqual([["list"], true]);
  expect((many.facts.values[0] as FactValue[]).length).toBe(8_191);

  const wide = packer.pack({ list: Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(1_000)), n: 5 });
  expect((wide.facts.values[0] as FactValue[]).length).toBe(65);
  expect([wide.facts.values[1], wide.cut]).toEqual([5, true]);

  // A truncated value is not shared with a peel that sends it completely.
  const tail = Array.from({ length: 10 }, (_, i) => `tail-${i}`);
  const fill = Array.from({ length: 65 }, () => "x".repeat(1_000));
  const short = packer.pack({ fill, rest: "y".repeat(490), tail }).facts;
  expect((short.values[2] as FactValue[]).length).toBeLessThan(10);
  expect(plainOf(packer.pack({ tail }).facts)).toEqual({ tail });
});

test("anything but a map counts as no facts", () => {
  for (const value of [null, 1, "x", ["a"], new Uint8Array([1])]) {
    expect(createFactPacker().pack(value).facts.keys).toEqual([]);
  }
});
