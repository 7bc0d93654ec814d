import { expect, test } from "bun:test";
import fc from "fast-check";
import { decode, encode } from "../../base/msgpack.ts";
import { encodeFacts, mergeFacts } from "./merge.ts";

const layer = (source: string, facts: Record<string, string | number>) => ({ source, facts });
const name = fc.constantFrom("a", "b", "c", "d", "e", "f");
const facts = fc.dictionary(
  name,
  fc.oneof(fc.integer(), fc.string({ maxLength: 60 }), fc.array(fc.boolean())),
);

test("a later source overrides an earlier one", () => {
  const merged = mergeFacts({ os: "Linux", cpu: 1 }, [
    layer("facts.d/a", { os: "custom", role: "web" }),
    layer("facts.set", { role: "db" }),
  ]);
  expect(merged).toEqual({ facts: { os: "custom", cpu: 1, role: "db" }, dropped: [] });
});

test("the largest custom fact is dropped first, and the built-in one it hid applies again", () => {
  const merged = mergeFacts({ os: "Linux" }, [layer("facts.d/a", { os: "x".repeat(500), role: "web" })], 100);
  expect(merged.facts).toEqual({ os: "Linux", role: "web" });
  expect(merged.dropped).toEqual([{ name: "os", source: "facts.d/a", bytes: 506 }]);
});

test("merged facts respect the limit, and only custom facts are dropped", () => {
  fc.assert(
    fc.property(facts, facts, facts, fc.integer({ min: 0, max: 200 }), (builtin, custom, set, room) => {
      const bound = encode(builtin).length + 5 + room;
      const layers = [
        { source: "custom", facts: custom },
        { source: "set", facts: set },
      ];
      const merged = mergeFacts(builtin, layers, bound);
      expect(encode(merged.facts).length).toBeLessThanOrEqual(bound);
      const gone = new Set(merged.dropped.map((fact) => fact.name));
      for (const [key, value] of Object.entries({ ...builtin, ...custom, ...set })) {
        if (!gone.has(key)) expect(merged.facts[key]).toEqual(value);
        else if (Object.hasOwn(builtin, key)) expect(merged.facts[key]).toEqual(builtin[key] ?? null);
        else expect(merged.facts).not.toHaveProperty(key);
      }
      for (const key of gone) expect(Object.hasOwn(custom, key) || Object.hasOwn(set, key)).toBe(true);
      if (encode({ ...builtin, ...custom, ...set }).length + 5 <= bound) expect(gone.size).toBe(0);
    }),
  );
});

test("equal facts have equal bytes, regardless of their order", () => {
  // Through JSON, which has no negative zero.
  const value = fc.jsonValue({ maxDepth: 4 }).map((some) => JSON.parse(JSON.stringify(some)));
  fc.assert(
    fc.property(fc.dictionary(name, value), (some) => {
      const shuffle = (at: unknown): unknown => {
        if (Array.isArray(at)) return at.map(shuffle);
        if (typeof at !== "object" || at === null) return at;
        return Object.fromEntries(
          Object.entries(at)
            .reverse()
            .map(([key, item]) => [key, shuffle(item)]),
        );
      };
      const bytes = encodeFacts(some as never);
      expect(encodeFacts(shuffle(some) as never)).toEqual(bytes);
      fc.pre(!JSON.stringify(some).includes("__proto__"));
      expect(decode(bytes)).toEqual(some as never);
    }),
  );
});
