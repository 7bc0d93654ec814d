import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import type { Entry } from "../../bus/storage/mod.ts";
import { createFactPacker } from "../../tree/targets/mod.ts";
import { type Call, invoke } from "../operation/mod.ts";
import { countFacts } from "./count-facts-operation.ts";
import { factChanges } from "./fact-changes.ts";
import { getFactsHistory } from "./facts-history-operation.ts";
import { findFacts } from "./find-facts-operation.ts";
import { packedFact } from "./packed-fact.ts";

type Facts = Record<string, Plain>;
const call: Call = {
  ...{ caller: { kind: "operator", name: "ann", door: "bus" }, log: recordingLog(), clock: manualClock() },
};

/** A master with these facts in memory. Nothing else of the fleet may be asked. */
function masterOf(facts: Record<string, Facts | undefined>) {
  const packer = createFactPacker();
  const packed = new Map(
    Object.entries(facts).flatMap(([peel, all]) =>
      all === undefined ? [] : [[peel, packer.pack(all).facts]],
    ),
  );
  const members = Object.keys(facts).sort();
  const deps = {
    directory: { members: () => members },
    index: { running: true, caughtUp: async () => {}, factsOf: (peel: string) => packed.get(peel) },
    resolver: {
      resolve: async ({ expression = "" }: { expression?: string }) =>
        members.filter((peel) => expression === "*" || peel.startsWith(expression.replace("*", ""))),
    },
  };
  return {
    find: (fields: Plain, answerBytes = 1024 * 1024) =>
      invoke(findFacts, deps as never, { fields }, { ...call, answerBytes }),
    count: (fields: Plain) => invoke(countFacts, deps as never, { fields }, call),
  };
}

const fleet = {
  "db-1": { os: "Debian", osrelease: "11", mounts: { "/": { fstype: "ext4" } }, ipv4: ["10.0.0.1"] },
  "web-1_example": { os: "Debian", osrelease: "12", num_cpus: 4 },
  "web-2_example": { os: "Debian", osrelease: "12", num_cpus: 8 },
  "web-3": undefined,
};

test("facts of many peels are found, whole and inside others, also where some have none", async () => {
  const { find } = masterOf(fleet);
  expect(await find({ show: "os,mounts:/:fstype, ipv4:0" })).toEqual({
    peels: [
      {
        peel_id: "db-1",
        facts: { os: "Debian", "mounts:/:fstype": "ext4", "ipv4:0": "10.0.0.1" },
      },
      { peel_id: "web-1_example", facts: { os: "Debian" } },
      { peel_id: "web-2_example", facts: { os: "Debian" } },
      { peel_id: "web-3", facts: {} },
    ],
  });
  // A fact that others have may be asked for.
  expect(await find({ target: "web*", show: "mounts" })).toMatchObject({ peels: [{ facts: {} }, {}, {}] });
  expect(await find({ target: "mail*", show: "nonsense" })).toEqual({ peels: [] });
});

test("pages of found facts have each peel once, whatever fits", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 50 }, (_, at) => [`web-${at}`, { os: "x".repeat(100) }]),
  );
  const { find } = masterOf(many);
  const seen: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page: Facts = { show: "os", limit: 7, ...(cursor === undefined ? {} : { cursor }) };
    const { peels, next } = await find(page, 700);
    seen.push(...peels.map(({ peel_id }) => peel_id));
    if (next === undefined) break;
    cursor = next;
  }
  expect(seen).toEqual(Object.keys(many).sort());
});

test("peels are counted by their facts, the largest groups first", async () => {
  const { count } = masterOf(fleet);
  expect(await count({ by: "os,osrelease" })).toEqual({
    groups: [
      { facts: { os: "Debian", osrelease: "12" }, peels: 2 },
      { facts: { os: "Debian", osrelease: "11" }, peels: 1 },
      { facts: {}, peels: 1 },
    ],
    peels: 4,
  });
  expect(await count({ by: "num_cpus", target: "web-1*" })).toEqual({
    groups: [{ facts: { num_cpus: 4 }, peels: 1 }],
    peels: 1,
  });
  expect(await count({ by: "os", target: "mail*" })).toEqual({ groups: [], peels: 0 });
});

test("peels that make up groups of their own do not make an answer large", async () => {
  const peels = Array.from({ length: 1_500 }, (_, at) => [`web-${at}`, { tag: `${at}-${"x".repeat(500)}` }]);
  const { groups, ...more } = await masterOf(Object.fromEntries(peels)).count({ by: "tag" });
  expect(groups).toHaveLength(1_000);
  expect(more).toEqual({ peels: 1_500, other_groups: 500, other_peels: 500 });
  expect(String(groups[0]?.facts.tag)).toHaveLength(257);
});

test.each([
  ["osrelese", /^no peel has a fact "osrelese" \(did you mean osrelease\?\)$/],
  ["mount:/:fstype", /^no peel has a fact "mount" \(did you mean mounts\?\)$/],
  ["os,", /show must be 1 to 20 names of facts, with commas between them/],
  [Array.from({ length: 21 }, (_, at) => `a${at}`).join(), /show must be 1 to 20 names/],
])("the names %p are refused", async (show, message) => {
  await expect(masterOf(fleet).find({ show })).rejects.toThrow(message);
});

test("a name that nobody has may be asked for where nobody has facts", async () => {
  expect(await masterOf({ "web-1": undefined }).count({ by: "os" })).toEqual({
    groups: [{ facts: {}, peels: 1 }],
    peels: 1,
  });
  await expect(masterOf(fleet).count({ by: "osrelese" })).rejects.toThrow("did you mean osrelease?");
});

test("keys that a peel chooses are values and never properties", () => {
  const { facts } = createFactPacker().pack(JSON.parse('{"a": {"__proto__": {"x": 1}, "b": [true]}}'));
  expect(packedFact(facts, "constructor")).toBeUndefined();
  expect(packedFact(facts, "a:constructor")).toBeUndefined();
  expect(packedFact(facts, "a:b:0")).toBe(true);
  expect(packedFact(undefined, "a")).toBeUndefined();
});

/** The facts of web-1, stored in these versions, an hour apart. */
function stored(...versions: (Facts | Uint8Array)[]) {
  const facts = {
    history: async (key: string): Promise<Entry[]> =>
      versions.map((value, at) => ({
        ...{ key, revision: at + 1, storedAt: Date.parse("2026-01-01T00:00:00Z") + at * 3_600_000 },
        value: value instanceof Uint8Array ? value : encode(value),
      })),
  };
  const directory = {
    caughtUp: async () => {},
    members: () => ["web-1"],
    memberOf: (peel: string) => (peel === "web-1" ? ({ id: "enr-1", state: "active" } as const) : undefined),
    stateOf: () => undefined,
  };
  return (fields: Facts = {}, bytes = 1024 * 1024) =>
    invoke(
      getFactsHistory,
      { directory, facts },
      { fields: { id: "web-1", ...fields } },
      { ...call, answerBytes: bytes },
    );
}

test("a history says what changed when, the newest first, and since when anything is known", async () => {
  const history = stored(
    { os: "Debian", osrelease: "11", mounts: { "/": { fstype: "ext4", size: 1 } } },
    new Uint8Array([0xc1]),
    { os: "Debian", osrelease: "12", mounts: { "/": { fstype: "xfs", size: 1 } }, rack: "r1" },
    { os: "Debian", osrelease: "12", mounts: { "/": { fstype: "xfs", size: 1 } } },
  );
  const [second, third] = ["2026-01-01T02:00:00.000Z", "2026-01-01T03:00:00.000Z"];
  const all = [
    { at: third, name: "rack", before: "r1" },
    { at: second, name: "mounts:/:fstype", before: "ext4", after: "xfs" },
    { at: second, name: "osrelease", before: "11", after: "12" },
    { at: second, name: "rack", after: "r1" },
  ];
  expect(await history()).toEqual({ changes: all, known_since: "2026-01-01T00:00:00.000Z" });
  expect((await history({ since: "2026-01-01T02:30:00Z" })).changes).toEqual(all.slice(0, 1));
  expect((await history({ since: "2027-01-01T00:00:00Z" })).changes).toEqual([]);
});

test("a history is bounded, whatever a peel stores", async () => {
  const many = (value: string) =>
    Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`f${at}`, value]));
  const found = await stored(many("a"), many("b"))();
  expect([found.changes.length, found.more]).toEqual([1_000, true]);
  const cut = await stored(many("a"), many("b"))({}, 1_000);
  expect(JSON.stringify(cut.changes).length).toBeLessThan(1_100);
  const long = await stored({ a: "x" }, { a: "y".repeat(100_000), b: Array(5_000).fill("z") })();
  expect(JSON.stringify(long.changes).length).toBeLessThan(12_000);
});

test("a caller without a history learns why", async () => {
  await expect(stored()()).rejects.toThrow("web-1 has stored no facts yet");
  await expect(stored({})({ id: "web-2" })).rejects.toThrow(
    'the peel "web-2" does not exist (did you mean web-1?)',
  );
});

test("changes, applied to what was, are what is", () => {
  const value = fc.letrec<{ any: Plain }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 2 },
      ...[fc.constant(null), fc.boolean(), fc.nat(3), fc.constantFrom("a", "b")],
      fc.array(fc.nat(3), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom("x", "y", "z"), tie("any"), { maxKeys: 2 }),
    ),
  })).any;
  const facts = fc.dictionary(fc.constantFrom("p", "q", "r"), value, { maxKeys: 3 });
  const set = (at: Facts, path: string[], to: Plain | undefined): Facts => {
    const [name = "", ...rest] = path;
    const { [name]: inner, ...others } = at;
    if (rest.length > 0) return { ...others, [name]: set((inner ?? {}) as Facts, rest, to) };
    return to === undefined ? others : { ...others, [name]: to };
  };
  fc.assert(
    fc.property(facts, facts, (before, after) => {
      const changed = factChanges(before, after).reduce<Facts>(
        (at, { name, after: to }) => set(at, name.split(":"), to),
        before,
      );
      expect(changed).toEqual(after);
      expect(factChanges(after, after)).toEqual([]);
    }),
  );
});
