import { expect, test } from "bun:test";
import fc from "fast-check";
import { resolveAtOnce } from "../../../test/harness/targets.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { ExpandedExpression } from "../../tree/targets/expression.ts";
import { createFactPacker } from "../../tree/targets/fact-map.ts";
import { matchGlob } from "../../tree/targets/glob.ts";
import { expandGroups } from "../../tree/targets/groups.ts";
import { parseTarget } from "../../tree/targets/parse.ts";
import type { Fleet } from "./fleet.ts";
import { resolveList } from "./resolve.ts";

const packer = createFactPacker();
const parse = (text: string) => expandGroups(parseTarget(text), new Map());

function fleetOf(peels: Record<string, Plain>, settings?: Record<string, Plain>): Fleet {
  const packed = (facts: Plain | undefined) => (facts === undefined ? undefined : packer.pack(facts).facts);
  return {
    members: () => Object.keys(peels).sort(),
    peels: () =>
      Object.keys(peels)
        .sort()
        .map((id) => ({ id, facts: packed(peels[id]), settings: packed(settings?.[id]) })),
    hasSettings: settings !== undefined,
    alive: () => true,
  };
}

const fleet = fleetOf({
  "cache-1_example": {},
  "db-1_example": {
    os: "Debian GNU/Linux",
    roles: ["db", "Backup"],
    cpus: 8,
    virtual: true,
    network: { domain: "eu.example", interfaces: { eth0: { mtu: 1500 } } },
    ipv6: ["fe80::1"],
    nothing: null,
    disks: [{ name: "sda" }],
  },
  "web-1_example": { os: "Ubuntu", roles: ["web"], network: "flat", zone: "a:b" },
  "web-2_example": { os: "debian", zone: { a: "c" } },
});
const found = (text: string) =>
  resolveAtOnce(parse(text), fleet)
    .map((peel) => peel.slice(0, -"_example".length))
    .join(" ");

test.each([
  ["*", "cache-1 db-1 web-1 web-2"],
  ["web-*", "web-1 web-2"],
  ["web-1.example", "web-1"],
  ["web-1_example", "web-1"],
  ["web-[!1]*", "web-2"],
  ["*-1*", "cache-1 db-1 web-1"],
  ["web", ""],
  ["not web-*", "cache-1 db-1"],
  ["E@web-", "web-1 web-2"],
  ["E@eb-", ""],
  ["E@.*\\.example$", "cache-1 db-1 web-1 web-2"],
  ["E@.*_example", ""],
  ["E@web-1|db", "db-1 web-1"],
  ["L@db-1.example,web-2_example,gone", "db-1 web-2"],
  ["G@os:debian*", "db-1 web-2"],
  ["G@os:debian", "web-2"],
  ["G@os:'Debian GNU/Linux'", "db-1"],
  ["G@os:*", "db-1 web-1 web-2"],
  ["not G@os:*", "cache-1"],
  ["G@roles:backup", "db-1"],
  ["G@roles:*b*", "db-1 web-1"],
  ["G@cpus:8", "db-1"],
  ["G@virtual:True", "db-1"],
  ["G@nothing:*", ""],
  ["G@network:domain:*.example", "db-1"],
  ["G@network:flat", "web-1"],
  ["G@network:domain", "db-1"],
  ["G@network:interfaces:eth0", "db-1"],
  ["G@network:interfaces:eth0:mtu:1500", "db-1"],
  ["G@network:interfaces:eth0:mtu:9000", ""],
  ["G@ipv6:fe80::1", "db-1"],
  ["G@zone:a:*", "web-1 web-2"],
  ["G@zone:a:b", "web-1"],
  ["G@zone:a:c", "web-2"],
  ["G@disks:name", "db-1"],
  ["P@os:(ubuntu|DEBIAN$)", "web-1 web-2"],
  ["P@os:(?:ubuntu)", "web-1"],
  ["P@os:.*linux", "db-1"],
  ["P@os:linux", ""],
  ["P@network:domain:(?:eu|us)\\.", "db-1"],
  ["G@os:debian* and (web-* or cache-*)", "web-2"],
  ["web-1* or db-* and not G@os:Debian*", "web-1"],
  ["(web-1* or db-*) and not G@os:Ubuntu", "db-1"],
])("%s", (text, peels) => {
  expect(found(text)).toBe(peels);
});

test("a prefix and a full id are looked up with the same result as a search", () => {
  const id = fc.stringMatching(/^[ab-]{1,4}$/);
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 20 }), id, fc.boolean(), (ids, text, star) => {
      const glob = star ? `${text}*` : text;
      const members = [...ids].sort();
      const few = { ...fleet, members: () => members };
      expect(resolveAtOnce({ kind: "id", glob, at: 1 }, few)).toEqual(
        members.filter((member) => matchGlob(glob, member)),
      );
    }),
  );
});

test("settings are matched if available, and rejected otherwise", () => {
  expect(() => found("not I@role:db")).toThrow("I@ cannot be used");
  const withSettings = fleetOf({ a1: {}, b1: {} }, { a1: { role: { name: "db" } } });
  expect(resolveAtOnce(parse("I@role:name:D?"), withSettings)).toEqual(["a1"]);
});

test("a list contains each member once and no others", () => {
  const members = fleet.members();
  expect(resolveList(["web-2.example", "web-2_example", "gone"], members)).toEqual(["web-2_example"]);
  expect(() => resolveList(["a b"], members)).toThrow(expect.objectContaining({ kind: "bad_request" }));
});

const word = fc.constantFrom("a", "b", "ab", "ba");
const value: fc.Arbitrary<Plain> = fc.oneof(
  word,
  fc.integer({ min: 0, max: 3 }),
  fc.boolean(),
  fc.array(word, { maxLength: 3 }),
  fc.dictionary(word, word, { maxKeys: 3 }),
);
const facts = fc.dictionary(word, value, { maxKeys: 4 }).map((map) => ({ ...map }) as Plain);
const matcher: fc.Arbitrary<ExpandedExpression> = fc.oneof(
  fc.record({
    kind: fc.constant("id" as const),
    glob: fc.constantFrom("*", "a*", "*b", "a?", "ab", "*a*"),
    at: fc.constant(1),
  }),
  fc.record({ kind: fc.constant("ids" as const), ids: fc.array(word), at: fc.constant(1) }),
  fc.record({
    kind: fc.constant("fact" as const),
    matches: fc.constant("glob" as const),
    parts: fc
      .tuple(
        fc.array(word, { minLength: 1, maxLength: 3 }),
        fc.constantFrom("*", "a*", "b", "1", "true", "?"),
      )
      .map(([path, pattern]) => [...path, pattern]),
    at: fc.constant(1),
  }),
);
const expression = fc.letrec<{ tree: ExpandedExpression }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    matcher,
    fc.record({ kind: fc.constant("not" as const), term: tie("tree") }),
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      terms: fc.array(tie("tree"), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).tree;

/** The rules of docs/targeting.md, one after the other, over facts as a peel sent them. */
function naive(tree: ExpandedExpression, peel: string, sent: Plain): boolean {
  if ("term" in tree) return !naive(tree.term, peel, sent);
  if ("terms" in tree) {
    const answers = tree.terms.map((term) => naive(term, peel, sent));
    return tree.kind === "and" ? !answers.includes(false) : answers.includes(true);
  }
  if (tree.kind === "id") return matchGlob(tree.glob, peel);
  if (tree.kind === "ids") return tree.ids.includes(peel);
  if (tree.kind === "id-regex") return new RegExp(`^(?:${tree.regex})`).test(peel);
  if (tree.kind === "label") return false;
  for (let split = tree.parts.length - 1; split > 0; split--) {
    let at: Plain | undefined = sent;
    for (const step of tree.parts.slice(0, split)) {
      const isMap: boolean = at !== null && typeof at === "object" && !Array.isArray(at);
      at = isMap && Object.hasOwn(at as object, step) ? (at as Record<string, Plain>)[step] : undefined;
    }
    if (at === undefined) continue;
    const texts =
      typeof at !== "object" || at === null
        ? [String(at)]
        : Array.isArray(at)
          ? at.map(String)
          : Object.keys(at);
    const pattern = tree.parts.slice(split).join(":");
    return texts.some((text) => matchGlob(pattern, text));
  }
  return false;
}

test("agrees with a literal implementation of the rules", () => {
  fc.assert(
    fc.property(expression, fc.dictionary(word, facts, { minKeys: 1, maxKeys: 4 }), (tree, peels) => {
      const over = fleetOf(peels);
      expect(resolveAtOnce(tree, over)).toEqual(
        over.members().filter((peel) => naive(tree, peel, peels[peel] ?? null)),
      );
    }),
    { numRuns: 1_000 },
  );
});
