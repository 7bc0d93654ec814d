import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import {
  encodeOperator,
  lastRecordKey,
  type OperatorRecord,
  signOperator,
} from "../../wire/operator-record.ts";
import { applyChange } from "./apply.ts";
import type { OperatorChange } from "./change.ts";
import { createRegistry, type Registry } from "./registry.ts";

const keyOf = (byte: number) => newKeyPair("user", () => new Uint8Array(32).fill(byte));
const [root, anna, other, thief] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)];
const at = Date.UTC(2026, 10, 29);
const removed = { version: 2, disabled: true, released: { base: 5 } } as const;

const recordOf = (key: typeof root, more: Partial<OperatorRecord> = {}): OperatorRecord => ({
  ...{
    name: "anna",
    publicKey: key.publicKey,
    roles: ["admin"],
    createdAt: at,
    createdBy: "root",
    version: 1,
  },
  ...more,
});

/** The bus of a fleet, and masters on it. */
function setUp() {
  const bucket = memoryBucket();
  const clock = { now: () => at, monotonic: () => 0 };
  /** @param seen the greatest versions that this master remembers */
  const master = async (seen = new Map<string, number>()) => {
    const log = recordingLog();
    const registry = createRegistry({
      ...{ bucket, clock, log },
      administrators: () => [{ name: "root", publicKey: root.publicKey }],
      floors: { of: (name) => seen.get(name) ?? 0, note: (name, version) => void seen.set(name, version) },
    });
    const deps = {
      ...{ bucket, registry, clock, log },
      revocations: {
        add: async (entry: { publicKey: string; name: string }) => ({ ...entry, revokedAt: at }),
        lift: async () => false,
      },
      reconciler: { enforce: async () => true },
      disconnections: { watch: () => ({ closed: async () => undefined, stop() {} }) },
      knownRoles: () => ["admin", "viewer"],
      scopesOf: (roles: readonly string[]) => roles,
    };
    const change = (what: OperatorChange, record: OperatorRecord, signer = root) =>
      applyChange(deps, what, signOperator(record, signer));
    await registry.ready;
    return { registry, change };
  };
  return { bucket, master };
}

const counts = (registry: Registry, key = anna) => "operator" in registry.judge("anna", key.publicKey, at);
const refusal = (registry: Registry) => {
  const judged = registry.judge("anna", anna.publicKey, at);
  return "refused" in judged ? judged.refused : "";
};
/** What is known to stay released. */
const stays = (registry: Registry, key = anna) =>
  registry.lastChainOf("anna", key.publicKey, at)?.[0]?.released;

async function removedFleet() {
  const fleet = setUp();
  const first = await fleet.master();
  await first.change("add", recordOf(anna));
  expect(counts(first.registry)).toBe(true);
  await first.change("remove", recordOf(anna, removed));
  return { ...fleet, first };
}

test("the last record of an operator who is removed stays, and nobody is listed", async () => {
  const { bucket, master, first } = await removedFleet();
  expect(bucket.keys).toEqual([lastRecordKey({ name: "anna", publicKey: anna.publicKey })]);
  for (const { registry } of [first, await master()]) {
    expect([counts(registry), registry.list(), registry.find("anna")]).toEqual([false, [], undefined]);
    expect([refusal(registry), stays(registry)]).toEqual([
      expect.stringContaining("the operator anna was removed"),
      { base: 5 },
    ]);
    expect(registry.removed().map(({ name }) => name)).toEqual(["anna"]);
  }
  for (const what of ["enable", "disable", "remove", "roles"] as const) {
    const next = recordOf(anna, {
      version: 3,
      ...(what === "enable" || what === "roles" ? {} : { disabled: true }),
    });
    await expect(first.change(what, next)).rejects.toMatchObject({ kind: "not_found" });
  }
});

test("another operator takes the name with a greater version, and what stays of the one before does not change", async () => {
  const { master, first } = await removedFleet();
  await expect(first.change("add", recordOf(other, { version: 2 }))).rejects.toMatchObject({
    kind: "conflict",
  });
  // Also on a master that knows of versions only what is on the bus.
  const late = await master();
  await expect(late.change("add", recordOf(other))).rejects.toMatchObject({ kind: "conflict" });
  await late.change("add", recordOf(other, { version: 3 }));
  for (const { registry } of [first, late, await master()]) {
    expect([counts(registry), counts(registry, other)]).toEqual([false, true]);
    expect([stays(registry), stays(registry, other)]).toEqual([{ base: 5 }, undefined]);
  }
  await late.change("remove", recordOf(other, { ...removed, version: 4, released: { base: 9 } }));
  const { registry } = await master();
  expect([stays(registry), stays(registry, other)]).toEqual([{ base: 5 }, { base: 9 }]);
  expect(registry.ended().map(({ publicKey }) => publicKey)).toEqual([other.publicKey, anna.publicKey]);
  // The first one comes back with the same key: it is an operator like any other.
  await late.change("add", recordOf(anna, { version: 5 }));
  expect([counts(registry), stays(registry), registry.removed().map(({ publicKey }) => publicKey)]).toEqual([
    true,
    undefined,
    [other.publicKey],
  ]);
  await late.change("disable", recordOf(anna, { ...removed, version: 6, released: { base: 7 } }));
  expect([counts(registry), stays(registry)]).toEqual([false, { base: 7 }]);
  expect(registry.ended().map(({ version }) => version)).toEqual([6, 4]);
});

test("what an attacker puts on the bus brings nobody back, and lets nothing more stay released", async () => {
  const { bucket, master, first } = await removedFleet();
  const put = (record: OperatorRecord, signer = root, key = record.name) =>
    bucket.put(key, encodeOperator(signOperator(record, signer)));
  const place = lastRecordKey({ name: "anna", publicKey: anna.publicKey });
  const isGone = async () => {
    for (const { registry } of [first, await master()]) {
      expect([counts(registry), registry.dependents("root", at)]).toEqual([false, []]);
      expect(stays(registry)?.base ?? 5).toBe(5);
    }
  };
  // An older record, also for masters that remember no versions.
  await put(recordOf(anna));
  await isGone();
  // The last record in the place of one of an operator: it is not a disabled operator that can be enabled.
  await put(recordOf(anna, removed));
  await isGone();
  await expect(first.change("enable", recordOf(anna, { version: 3 }))).rejects.toMatchObject({
    kind: "not_found",
  });
  // A last record of the attacker, with more.
  await put(recordOf(anna, { ...removed, version: 9, released: { base: 99 } }), thief, place);
  await isGone();
  await put(recordOf(anna, { ...removed, version: 9, released: { base: 99 } }), anna, place);
  await isGone();
  // An earlier one, which said less, and a record that is not disabled: masters keep what they know.
  await put(recordOf(anna, { version: 1, disabled: true }), root, place);
  await put(recordOf(anna, { version: 9 }), root, place);
  await isGone();
  // The last record of another operator.
  await put(recordOf(other, { ...removed, released: { base: 99 } }), root, place);
  await isGone();
  await bucket.put(place, new Uint8Array([1]));
  await isGone();
});

test("a master that is ended between the two writes of a removal has removed the operator", async () => {
  const { bucket, master } = setUp();
  const first = await master();
  await first.change("add", recordOf(anna));
  bucket.remove = () => Promise.reject(new Error("the master is ended"));
  await expect(first.change("remove", recordOf(anna, removed))).rejects.toThrow("ended");
  const { registry, change } = await master();
  expect([bucket.keys.length, counts(registry), registry.list(), stays(registry)]).toEqual([
    2,
    false,
    [],
    { base: 5 },
  ]);
  await change("add", recordOf(other, { version: 3 }));
  expect([counts(registry, other), stays(registry)]).toEqual([true, { base: 5 }]);
});
