import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../base/msgpack.ts";
import { LazyMap } from "./lazy-map.ts";
import { fromPlain, toPlain, type Value, ValueMap } from "./values/mod.ts";

type Act = (map: ValueMap) => unknown;
const key = fc.constantFrom("a", "b", "c", "d", "none");
const act: fc.Arbitrary<Act> = fc.oneof(
  key.map(
    (each): Act =>
      (map) =>
        map.get(each),
  ),
  key.map(
    (each): Act =>
      (map) =>
        map.has(each),
  ),
  key.map(
    (each): Act =>
      (map) =>
        map.delete(each),
  ),
  fc.tuple(key, fc.integer()).map(
    ([each, value]): Act =>
      (map) =>
        map.set(each, value),
  ),
  fc.constant<Act>((map) => map.size),
  fc.constant<Act>((map) => map.keys()),
  fc.constant<Act>((map) => map.get(1)),
  fc.constant<Act>((map) => map.clear()),
);

test("a lazy map does what a map does", () => {
  const values = fc.dictionary(
    key,
    fc.oneof(fc.integer(), fc.constant(null), fc.array(fc.integer(), { maxLength: 2 })),
  );
  fc.assert(
    fc.property(values, values, fc.array(act, { maxLength: 8 }), (first, second, acts) => {
      const lazy = new LazyMap([first, second]);
      const all: [string, Plain][] = Object.entries({ ...first, ...second, ...first });
      const missing = Object.keys(second).filter((each) => !Object.hasOwn(first, each));
      const order = [...Object.keys(first), ...missing];
      const plain = new ValueMap(
        all
          .sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
          .map(([each, value]): [Value, Value] => [each, fromPlain(value)]),
      );
      for (const each of acts) expect(each(lazy)).toEqual(each(plain));
      expect(lazy.entries()).toEqual(plain.entries());
      expect(toPlain(lazy)).toEqual(toPlain(plain));
    }),
  );
});

test("what a template got is the same list each time", () => {
  const lazy = new LazyMap([{ list: [1], other: null }]);
  const list = lazy.get("list");
  expect(lazy.get("list")).toBe(list as Value);
  expect(lazy.entries()[0]?.[1]).toBe(list as Value);
  expect(lazy.get("other")).toBeNull();
});
