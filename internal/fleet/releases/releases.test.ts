import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemClock } from "../../base/clock.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import {
  encodeOperator,
  lastRecordKey,
  type OperatorRecord,
  signOperator,
} from "../../wire/operator-record.ts";
import { openRelease, type Release, signRelease } from "../../wire/release.ts";
import { createRegistry } from "../operators/mod.ts";
import { createReleaseJudge } from "./judge.ts";
import { listReleases, releaseStates } from "./operations.ts";
import { noteTaken } from "./store.ts";
import { followReleases } from "./view.ts";

const keyOf = (byte: number) => newKeyPair("user", () => new Uint8Array(32).fill(byte));
const accountOf = (byte: number) => newKeyPair("account", () => new Uint8Array(32).fill(byte)).publicKey;
const [root, anna, bert, thief] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)];
const fleet = accountOf(9);
const at = Date.UTC(2026, 10, 28);
const snapshotOf = (version: number) => `${version}`.padStart(64, "0");

type Change = Partial<Omit<Release, "key">>;
const releaseBy = (signer: typeof root, operator: string, version: number, more: Change = {}) =>
  signRelease(
    {
      ...{ fleet, environment: "base", snapshot: snapshotOf(version), version, releasedAt: at, operator },
      ...more,
    },
    signer,
  );
const byAnna = (version: number, more: Change = {}) => releaseBy(anna, "anna", version, more);
const recordOf = (name: string, key: typeof root, more: Partial<OperatorRecord> = {}): OperatorRecord => ({
  ...{ name, publicKey: key.publicKey, roles: ["admin"], createdAt: at, createdBy: "root", version: 1 },
  ...more,
});

/** A bus with operators and releases, and masters on it. */
async function setUp(operators: readonly OperatorRecord[] = [recordOf("anna", anna)]) {
  const bucket = memoryBucket();
  const registered = memoryBucket();
  const sign = (record: OperatorRecord) =>
    registered.put(record.name, encodeOperator(signOperator(record, root)));
  for (const record of operators) await sign(record);
  const master = (logged: readonly Uint8Array[] = []) => {
    const log = recordingLog();
    const clock = { now: () => time.now };
    const registry = createRegistry({
      ...{ bucket: registered, floors: { of: () => 0, note() {} }, clock, log },
      administrators: () => [{ name: "root", publicKey: root.publicKey }],
    });
    const judge = createReleaseJudge({
      ...{ fleet, registry, clock },
      mayRelease: (roles) => roles.includes("admin"),
    });
    for (const bytes of logged) judge.remember(bytes);
    const releases = followReleases({ bucket, judge, log });
    const files = {
      list: async () => [
        {
          environment: "base",
          content: { environment: "base", commit: "c".repeat(40), snapshot: snapshotOf(7) },
          sources: [{ remote: "https://git.example.com/states", ref: "refs/heads/main" }],
          commitOf: (snapshot: string) => (snapshot === snapshotOf(2) ? "b".repeat(40) : undefined),
          candidate: {
            content: { environment: "base", commit: "d".repeat(40), snapshot: snapshotOf(8) },
            since: at,
          },
        },
      ],
      countChanges: async () => ({ added: 1, changed: 2, removed: 0 }),
    };
    const deps = { bucket, releases, judge, fleet, files };
    const call = {
      caller: { kind: "operator", name: "anna", door: "bus" } as const,
      log,
      clock: systemClock,
    };
    return {
      log,
      releases,
      release: (bytes: Uint8Array) => releaseStates.run(deps, { release: bytes }, call),
      list: () => listReleases.run(deps, {}, call),
      note: (...taken: Uint8Array[]) => noteTaken(deps, taken),
      newest: () => releases.newest("base")?.release.version,
    };
  };
  const time = { now: at };
  /** Removes the operator anna with this key. */
  const remove = async (more: Partial<OperatorRecord>, key = anna) => {
    const last = recordOf("anna", key, { disabled: true, ...more });
    await registered.put(lastRecordKey(last), encodeOperator(signOperator(last, root)));
    await registered.remove("anna", (await registered.get("anna"))?.revision ?? 0);
  };
  return { bucket, sign, remove, master, time };
}

test("releases follow one another, and each master knows the newest and the one before", async () => {
  const { master } = await setUp();
  const [one, other] = [master(), master()];
  expect(await one.list()).toMatchObject({ fleet, environments: [{ environment: "base", next_version: 1 }] });
  for (const version of [1, 2, 3]) await one.release(byAnna(version));
  const [base] = (await other.list()).environments;
  expect(base).toMatchObject({
    ...{ next_version: 4, content: { commit: "c".repeat(40) } },
    newest: {
      version: 3,
      operator: "anna",
      key: anna.publicKey,
      snapshot: Buffer.from(snapshotOf(3), "hex"),
    },
    before: { version: 2, commit: "b".repeat(40) },
    sources: [{ remote: "https://git.example.com/states", ref: "refs/heads/main" }],
    candidate: {
      content: { commit: "d".repeat(40) },
      since: "2026-11-28T00:00:00.000Z",
      changes: { added: 1, changed: 2, removed: 0 },
    },
  });
  expect(base?.newest?.release).toBe(Buffer.from(byAnna(3)).toString("base64"));
  expect([...other.releases.snapshots()]).toEqual([snapshotOf(3), snapshotOf(2)]);
  expect(other.releases.withSnapshot("base", snapshotOf(1))?.release.version).toBe(1);
  // A master that starts later reads the one before from the revisions of the key.
  const late = master();
  await late.releases.ready;
  expect(late.releases.before("base")?.release.version).toBe(2);
});

test("of two releases of the same version that two masters get at once, one is stored", async () => {
  const { master, bucket, sign } = await setUp();
  await sign(recordOf("bert", bert));
  const [one, other] = [master(), master()];
  await one.release(byAnna(1));
  const results = await Promise.allSettled([
    one.release(byAnna(2)),
    other.release(releaseBy(bert, "bert", 2)),
  ]);
  expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const refused = results.find((result) => result.status === "rejected");
  expect(refused?.reason).toMatchObject({ kind: "conflict" });
  const stored = openRelease((await bucket.get("base"))?.value ?? new Uint8Array());
  expect([one.newest(), other.newest(), stored.version]).toEqual([2, 2, 2]);
  for (const { releases } of [one, other])
    expect(releases.newest("base")?.release.operator).toBe(stored.operator);
});

test.each<[string, Uint8Array, string, string]>([
  ["of another fleet", byAnna(2, { fleet: accountOf(8) }), "forbidden", "this is the fleet"],
  ["of the version in force", byAnna(1), "conflict", "has version 2, and this one has 1"],
  ["of a version beyond the next", byAnna(3), "conflict", "has version 2, and this one has 3"],
  [
    "by an operator without the right",
    releaseBy(bert, "bert", 2),
    "forbidden",
    "no role that allows states release",
  ],
  ["by a key that is not the operator's", releaseBy(thief, "anna", 2), "forbidden", "has another key"],
  ["by nobody who is known", releaseBy(thief, "mallory", 2), "forbidden", "does not exist"],
  ["that was changed", changed(byAnna(2)), "forbidden", "not signed as it is"],
  ["that cannot be read", new Uint8Array([1]), "unauthorized", "malformed"],
])("a release %s is refused, and so it is on the bus", async (_, bytes, kind, message) => {
  const { master, bucket } = await setUp([
    recordOf("anna", anna),
    recordOf("bert", bert, { roles: ["operator"] }),
  ]);
  const one = master();
  await one.release(byAnna(1));
  const refused = await one.release(bytes).catch((thrown) => thrown);
  expect(refused).toMatchObject({ kind, message: expect.stringContaining(message) });
  if (kind === "conflict") return;
  // An attacker who writes to the bus reaches no more: what does not count is ignored by every master.
  await bucket.put("base", bytes);
  const other = master();
  await other.releases.ready;
  expect([one.newest(), other.newest()]).toEqual([1, 1]);
  expect(one.log.records).toContainEqual(expect.objectContaining({ event: "a stored release is ignored" }));
});

function changed(bytes: Uint8Array): Uint8Array {
  const { snapshot } = openRelease(bytes);
  const forged = Buffer.from(bytes);
  forged[forged.indexOf(Buffer.from(snapshot, "hex"))] = 1;
  return forged;
}

test("a release stays when its signer ends, and goes when the signer is disabled without it", async () => {
  const { master, sign, time } = await setUp([recordOf("anna", anna, { expiresAt: at + 1_000 })]);
  const one = master();
  for (const version of [1, 2]) await one.release(byAnna(version));
  time.now = at + 2_000;
  expect(one.newest()).toBe(2);
  await expect(one.release(byAnna(3))).rejects.toMatchObject({ kind: "forbidden" });
  const last = { expiresAt: at + 1_000, disabled: true, version: 2 } as const;
  await sign(recordOf("anna", anna, { ...last, released: { base: 1 } }));
  expect(one.newest()).toBe(1);
  await sign(recordOf("anna", anna, { ...last, version: 3, released: { "feature/a": 9 } }));
  expect(one.newest()).toBe(undefined);
  await sign(recordOf("anna", anna, { ...last, version: 4, released: { base: 2 } }));
  expect(one.newest()).toBe(2);
  // A master that knows neither believes the last record of the signer, and its own log of decisions.
  const late = master();
  await late.releases.ready;
  expect(late.newest()).toBe(2);
  await sign(recordOf("anna", anna, { version: 5, expiresAt: at + 1_000 }));
  const [without, withLog] = [master(), master([byAnna(2)])];
  await Promise.all([without.releases.ready, withLog.releases.ready]);
  expect([without.newest(), withLog.newest()]).toEqual([undefined, 2]);
});

test("what a removed operator released stays, for masters without a log too, and nothing new counts", async () => {
  const { master, sign, remove } = await setUp();
  const one = master();
  for (const version of [1, 2]) await one.release(byAnna(version));
  await remove({ version: 2, released: { base: 2 } });
  const isAsReleased = async () => {
    const late = master();
    await late.releases.ready;
    for (const { newest, release, log } of [one, late]) {
      expect(newest()).toBe(2);
      await expect(release(byAnna(3))).rejects.toMatchObject({ kind: "forbidden" });
      expect(log.records.filter(({ event }) => event === "a stored release is ignored")).toEqual([]);
    }
  };
  await isAsReleased();
  // Another operator takes the name, and is removed too: what each released is apart.
  await sign(recordOf("anna", bert, { version: 3 }));
  await isAsReleased();
  await one.release(releaseBy(bert, "anna", 3));
  await remove({ version: 4, released: { base: 3 } }, bert);
  const late = master();
  await late.releases.ready;
  expect([one.newest(), late.newest(), late.releases.before("base")?.release.version]).toEqual([3, 3, 2]);
  for (const key of [anna, bert])
    await expect(late.release(releaseBy(key, "anna", 4))).rejects.toMatchObject({ kind: "forbidden" });
});

test("a removed operator without releases that stay has released nothing", async () => {
  const { master, remove } = await setUp();
  const one = master();
  await one.release(byAnna(1));
  await remove({ version: 2 });
  const late = master();
  await late.releases.ready;
  expect([one.newest(), late.newest()]).toEqual([undefined, undefined]);
});

test("the next version exceeds what peels took, on every master", async () => {
  const { master, bucket } = await setUp();
  const [one, other] = [master(), master()];
  await one.release(byAnna(1));
  await one.note(byAnna(7), byAnna(5), releaseBy(thief, "anna", 90), byAnna(99, { fleet: accountOf(8) }));
  expect([one.newest(), other.newest()]).toEqual([1, 1]);
  await expect(other.release(byAnna(2))).rejects.toMatchObject({ kind: "conflict" });
  await other.release(byAnna(8));
  await one.note(byAnna(7));
  expect([one.newest(), other.newest(), bucket.keys]).toEqual([8, 8, ["base", "base.seen"]]);
});
