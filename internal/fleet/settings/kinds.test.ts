import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { createCompilers } from "../../tree/settings/compile.ts";
import { type Call, invoke } from "../operation/mod.ts";
import { createKindsReader, shapeOf } from "./kinds.ts";
import { listKinds } from "./kinds-operation.ts";

interface Host {
  facts?: Record<string, Plain> | undefined;
  labels?: Record<string, string>;
}

const debian = { os: "Debian", osrelease: "12", hostname: "x" };

/** The kinds of these peels, whose settings have these files. */
function fleetOf(peels: Record<string, Host>, files: Record<string, string> = {}) {
  let compiled = 0;
  const joins = new Set<(peel: string) => void>();
  const stores = new Set<(peel: string) => void>();
  let now = 0;
  const tree = treeOf(files);
  const compiler = createCompilers()(tree);
  const reader = createKindsReader({
    tree: { tree },
    peels: {
      members: () => Object.keys(peels),
      onMember(run) {
        joins.add(run);
        return () => joins.delete(run);
      },
      onFacts(run) {
        stores.add(run);
        return () => stores.delete(run);
      },
      labelsOf: (peel) => peels[peel]?.labels,
      async facts(peel) {
        compiled++;
        const facts = peels[peel]?.facts;
        return facts === undefined ? undefined : encode(facts);
      },
    },
    compilerOf: () => compiler,
    random: (length) => new Uint8Array(length).fill(7),
    clock: { monotonic: () => now },
  });
  return {
    reader,
    compiled: () => compiled,
    change(kind: "member" | "facts", peel: string) {
      for (const run of kind === "member" ? joins : stores) run(peel);
    },
    pass: (ms: number) => {
      now += ms;
    },
    kinds: async () => (await reader.read()).kinds.map(({ peelId, peels: count }) => [peelId, count]),
  };
}

test("peels of one system, with equal labels and settings of one shape, are one kind", async () => {
  const files = {
    "top.sls": "base:\n  '*': [all]\n  'db-*': [db]\n",
    "all.sls": "name: {{ id }}\nlist: [1, 2]\n",
    "db.sls": "port: 1\n",
  };
  const prod = { env: "prod" };
  const { kinds } = fleetOf(
    {
      "web-1": { facts: { ...debian, hostname: "a", uptime: 1 }, labels: prod },
      "web-2": { facts: { ...debian, hostname: "b", uptime: 2 }, labels: prod },
      "web-3": { facts: debian },
      "web-4": { facts: { ...debian, osrelease: "11" }, labels: prod },
      "db-1": { facts: debian, labels: prod },
      "new-1": {},
    },
    files,
  );
  expect(await kinds()).toEqual([
    ["web-1", 2],
    ["db-1", 1],
    ["web-3", 1],
    ["web-4", 1],
  ]);
});

test("only names and types of settings are their shape", () => {
  expect(shapeOf({ a: "x", b: [1, 2], c: { d: null } })).toEqual(shapeOf({ c: { d: null }, b: [3], a: "y" }));
  for (const other of [{ a: 1 }, { a: [] }, { a: ["x"] }, { b: "x" }, { a: { b: "x" } }, { a: null }, {}]) {
    expect(shapeOf(other)).not.toEqual(shapeOf({ a: "x" }));
  }
});

test("secrets are random tokens of the same form: by name, by form, and below secret/", async () => {
  const secret = "hunter2secret";
  const files = {
    "top.sls": "base:\n  '*': [app, secret/db]\n",
    "app.sls": [
      `admin_password: ${secret}`,
      `url: https://ann:${secret}@db/`,
      `api_keys: {a: ${secret}, b: [${secret}], c: 424242, d: false, e: null}`,
      "plain: shown",
    ].join("\n"),
    "secret/db.sls": `port: 515151\nhost: ${secret}\n`,
  };
  const { reader } = fleetOf({ "web-1": { facts: debian } }, files);
  const [kind] = (await reader.read()).kinds;
  const token = "07".repeat(12);
  expect(kind?.settings).toEqual({
    ...{ admin_password: token, url: token, plain: "shown", host: token, port: expect.any(Number) },
    api_keys: { a: token, b: [token], c: expect.any(Number), d: true, e: null },
  });
  expect(JSON.stringify(kind)).not.toMatch(/hunter2|424242|515151/);
});

test("a peel whose settings cannot be compiled belongs to a kind without settings", async () => {
  const files = { "top.sls": "base:\n  '*': [a]\n", "a.sls": "x: {{ facts.gone.y }}\n" };
  const { reader } = fleetOf({ "web-1": { facts: debian }, "web-2": { facts: debian } }, files);
  expect((await reader.read()).kinds).toEqual([{ peelId: "web-1", peels: 2, facts: debian, labels: {} }]);
});

test("at most 200 kinds are found, the largest, and the fleet is not read again at once", async () => {
  const peels: Record<string, Host> = {};
  for (let at = 0; at < 205; at++) peels[`p${at}`] = { facts: { ...debian, osrelease: String(at) } };
  peels.twin = { facts: { ...debian, osrelease: "204" } };
  const { reader, compiled, pass } = fleetOf(peels);
  const { kinds, left } = await reader.read();
  expect([kinds.length, left, kinds[0]?.peelId]).toEqual([200, 5, "p204"]);
  const before = compiled();
  await reader.read();
  expect(compiled()).toBe(before);
  pass(60_000);
  await reader.read();
  expect(compiled()).toBeGreaterThan(before);
});

test("peels that are not read in time are counted", async () => {
  const peels = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`p${at}`, { facts: debian }]));
  const fleet = fleetOf(peels);
  const reading = fleet.reader.read();
  fleet.pass(60_000);
  const { kinds, left } = await reading;
  expect((kinds[0]?.peels ?? 0) + left).toBe(40);
  expect(left).toBeGreaterThan(0);
});

test("the pages of an answer have every kind once, without facts", async () => {
  const { reader } = fleetOf({
    "web-1": { facts: debian },
    "web-2": { facts: { ...debian, os: "Alpine" } },
    "web-3": { facts: { ...debian, os: "Ubuntu" } },
  });
  const call: Call = {
    ...{ caller: { kind: "operator", name: "ann", door: "bus" }, log: recordingLog(), clock: manualClock() },
    answerBytes: 200,
  };
  const deps = { directory: { caughtUp: async () => {} }, kinds: reader };
  const seen: string[] = [];
  for (let cursor: string | undefined, page = 0; page < 9; page++) {
    const fields = cursor === undefined ? {} : { cursor };
    const answer = await invoke(listKinds, deps, { fields }, call);
    expect(JSON.stringify(answer)).not.toContain("Debian");
    seen.push(...answer.kinds.map(({ peel_id }) => peel_id));
    cursor = answer.next;
    if (cursor === undefined) break;
  }
  expect(seen).toEqual(["web-1", "web-2", "web-3"]);
});

test("peels that join, get labels, or store their first facts count at once", async () => {
  const peels: Record<string, Host> = { "web-1": { facts: debian }, "web-2": {} };
  const { kinds, change, reader } = fleetOf(peels);
  expect(await kinds()).toEqual([["web-1", 1]]);
  peels["web-1"] = { facts: debian, labels: { role: "db" } };
  change("facts", "web-1");
  expect((await reader.read()).kinds[0]?.labels).toEqual({});
  change("member", "web-1");
  expect((await reader.read()).kinds[0]?.labels).toEqual({ role: "db" });
  peels["web-2"] = { facts: debian };
  change("facts", "web-2");
  expect(await kinds()).toEqual([
    ["web-1", 1],
    ["web-2", 1],
  ]);
});
