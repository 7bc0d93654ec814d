import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../base/msgpack.ts";
import type { InventoryPeel } from "./inventory-peel.ts";
import { labelValueOf, prometheusTargetOf } from "./prometheus-target.ts";

const peel = (more: Partial<InventoryPeel> = {}): InventoryPeel => ({
  ...{ peel_id: "web-1_example", labels: {}, facts: {} },
  ...more,
});

test.each([
  ["192.0.2.7", "192.0.2.7:9100"],
  ["2001:db8::7", "[2001:db8::7]:9100"],
  [undefined, "web-1.example:9100"],
])("a peel at %p is the target %s", (address, target) => {
  const found = prometheusTargetOf(peel(address === undefined ? {} : { address }), 9100);
  expect(found.targets).toEqual([target]);
});

test("facts and labels are labels of their own kind", () => {
  const labels = { env: "prod", os: "no" };
  expect(prometheusTargetOf(peel({ labels, facts: { os: "Debian", "mounts:/:fstype": "ext4" } }), 1)).toEqual(
    {
      targets: ["web-1.example:1"],
      labels: {
        __meta_svc_peel: "web-1.example",
        ...{ __meta_svc_fact_os: "Debian", __meta_svc_fact_mounts___fstype: "ext4" },
        ...{ __meta_svc_label_env: "prod", __meta_svc_label_os: "no" },
      },
    },
  );
});

test("of names that become the same, the exact one counts, then the first in order", () => {
  const named = (labels: Record<string, string>) => prometheusTargetOf(peel({ labels }), 1).labels;
  expect(named({ "a-b": "1", a_b: "2", "a.b": "3" }).__meta_svc_label_a_b).toBe("2");
  expect(named({ "a.b": "3", "a-b": "1" }).__meta_svc_label_a_b).toBe("1");
});

test.each<[string, Plain, string | undefined]>([
  ["a number", 8, "8"],
  ["a truth value", true, "true"],
  ["a list", ["a", 1, { b: 2 }], ",a,1,"],
  ["an empty list", [], undefined],
  ["a list of maps", [{ a: 1 }], undefined],
  ["a map", { a: 1 }, undefined],
  ["nothing", null, undefined],
  ["control characters", "a\nb\u0000", "a\uFFFDb\uFFFD"],
  ["half of a pair", "a\uD83D", "a\uFFFD"],
  ["a pair that a cut would halve", `${"x".repeat(127)}😀`, `${"x".repeat(127)}\uFFFD`],
  ["a huge text", "x".repeat(500), "x".repeat(128)],
  [
    "a huge list",
    Array.from({ length: 99 }, (_, at) => `item-${at}`),
    expect.stringMatching(/^,(item-\d+,)+$/),
  ],
])("the text of %s", (_, value, text) => expect(labelValueOf(value)).toEqual(text as string));

test("whatever a peel and its labels say, Prometheus accepts it, and it is bounded", () => {
  const plain = fc.jsonValue() as fc.Arbitrary<Plain>;
  const facts = fc.dictionary(fc.string({ unit: "binary" }), plain);
  fc.assert(
    fc.property(facts, (facts) => {
      for (const [name, text] of Object.entries(prometheusTargetOf(peel({ facts }), 9100).labels)) {
        expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_]*$/);
        expect(text.length).toBeLessThanOrEqual(128);
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toMatch(/\p{Cc}/u);
      }
    }),
  );
});
