import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatYaml } from "../../base/yaml/yaml.ts";
import { checkFact } from "./fact.ts";
import { findFact } from "./find-fact.ts";
import { parseFacts } from "./parse.ts";

const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

describe("a fact is rejected", () => {
  test.each<[string, string, unknown, string]>([
    ["without a name", "", 1, "is not a valid fact name"],
    ["with a colon in its name", "a:b", 1, "is not a valid fact name"],
    ["with a name of 129 characters", "a".repeat(129), 1, "is not a valid fact name"],
    ["with the name of a prototype", "__proto__", 1, "is not a valid fact name"],
    ["that identifies hosts", "id", "other", "the fact id cannot be set"],
    ["that identifies machines", "machine_id", "other", "the fact machine_id cannot be set"],
    ["that identifies versions", "svc_version", "9", "the fact svc_version cannot be set"],
    ["when it is too deep", "a", nested(9), "nested more than 8 levels deep"],
    ["when a number is NaN", "a", [Number.NaN], "not finite"],
    ["when a key is empty", "a", { "": 1 }, "a key that is empty"],
    ["when it holds bytes", "a", new Uint8Array(1), "not a string, number, boolean, list or map"],
    ["when it holds a date", "a", { at: new Date(0) }, "not a string, number, boolean, list or map"],
    ["when it holds very many values", "a", Array(20_001).fill(0), "more than 20000 values"],
  ])("%s", (_, name, value, message) => {
    expect(() => checkFact(name, value)).toThrow(message);
  });

  test("and one at the limits is accepted", () => {
    expect(checkFact("a".repeat(128), nested(8))).toEqual(nested(8) as never);
    expect(checkFact("_a.b-C1", null)).toBe(null);
  });
});

test("any plain value can be stored and read back", () => {
  const value = fc.jsonValue({ maxDepth: 4 });
  fc.assert(
    fc.property(value, (some) => {
      let checked: unknown;
      try {
        checked = checkFact("fact", some);
      } catch {
        return fc.pre(false);
      }
      expect(parseFacts(formatYaml({ fact: checked }), "facts.yaml").facts.fact).toEqual(checked as never);
    }),
  );
});

test("facts are YAML or JSON, and a bad fact does not affect others", () => {
  const known = { role: "web", ports: [80, 443] };
  expect(parseFacts("role: web\nports: [80, 443]\n", "x").facts).toEqual(known);
  expect(parseFacts('{\n\t"role": "web",\n\t"ports": [80, 443]\n}\n', "x").facts).toEqual(known);
  expect(parseFacts("\n", "x")).toEqual({ facts: {}, refused: [] });
  expect(parseFacts("id: mine\nrole: web\n", "x")).toEqual({
    facts: { role: "web" },
    refused: ["the fact id cannot be set"],
  });
  expect(() => parseFacts("- role\n", "x")).toThrow("x: expected a map of facts");
  expect(() => parseFacts("{broken", "x")).toThrow("x:1:");
});

test("a path leads into maps and lists, and never into prototypes", () => {
  const facts = {
    os: "Debian",
    ipv4: ["10.0.0.1", "10.0.0.2"],
    mounts: { "/": { fstype: "ext4" } },
    "a:b": { c: 1 },
    a: { x: null },
  };
  const found = ["os", "ipv4:1", "mounts:/:fstype", "a:b:c", "a:x"].map((path) => findFact(facts, path));
  expect(found).toEqual(["Debian", "10.0.0.2", "ext4", 1, null]);
  const missing = [
    "",
    "x",
    "os:x",
    "ipv4:2",
    "ipv4:length",
    "mounts:/var:fstype",
    "constructor",
    "os:length",
  ];
  for (const path of missing) expect(findFact(facts, path)).toBeUndefined();
});
