import { describe, expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import { createRecordMac, newKeyPair } from "../../identity/mod.ts";
import { adoptSuccession, successionMark } from "./adopt-succession.ts";
import { decodeRecord, type Enrollment, encodeRecord } from "./record/record.ts";
import { awaitsRecovery } from "./record/transition.ts";
import { indexKey, readEnrollments } from "./store/store.ts";
import { createVouchers } from "./store/vouchers.ts";
import { formatSucceeded, newestChange, parseSucceeded, succeedRecords } from "./succeed-records.ts";

const fleet = () => {
  const mac = createRecordMac(newKeyPair("account", systemRandom));
  return { mac, vouchers: createVouchers(mac) };
};
const [before, after, other] = [fleet(), fleet(), fleet()];
const clock = manualClock();

const idOf = (name: string) => `enr-${name.padEnd(27, "0")}`;
function member(name: string, changes: Partial<Enrollment> = {}): Enrollment {
  return {
    id: idOf(name),
    peelId: name,
    publicKey: `U${name}`,
    curvePublicKey: `X${name}`,
    hostname: `${name}.example.com`,
    metadata: { rack: 7 },
    state: "active",
    createdAt: 1_000,
    updatedAt: 2_000,
    issuedAt: 1_500,
    activatedAt: 1_600,
    credsExpiresAt: 9_000,
    busPublicKey: "UBUS",
    busKeys: [{ publicKey: "UBUS", expiresAt: 9_000 }],
    renewals: 4,
    cloneSuspected: true,
    trustedCaSpki: "sha256:old",
    enrollChallenge: new Uint8Array([1]),
    enrollSignature: new Uint8Array([2]),
    ...changes,
  };
}

/** A bucket of the fleet before. */
const entriesOf = (records: readonly Enrollment[], { vouchers } = before) =>
  records.flatMap((record) => [
    { key: record.id, value: encodeRecord(vouchers.mark(record)) },
    { key: indexKey(record.peelId), value: encode(record.id) },
  ]);

const options = { vouchers: before.vouchers, operator: "ann", now: 5_000 };

describe("what is taken over", () => {
  test("members, with their keys and what is known of the host, approved", () => {
    const { records, tampered, isForeign } = succeedRecords(
      entriesOf([member("a"), member("b", { state: "issued" })]),
      options,
    );
    expect([tampered, isForeign]).toEqual([[], false]);
    expect(records.map(({ peelId }) => peelId)).toEqual(["a", "b"]);
    expect(records[0]).toEqual({
      id: idOf("a"),
      peelId: "a",
      publicKey: "Ua",
      curvePublicKey: "Xa",
      hostname: "a.example.com",
      metadata: { rack: 7 },
      state: "approved",
      succeeded: true,
      decidedBy: "ann",
      decidedAt: 5_000,
      createdAt: 1_000,
      updatedAt: 5_000,
      enrollChallenge: new Uint8Array([1]),
      enrollSignature: new Uint8Array([2]),
    });
    expect(records.every(awaitsRecovery)).toBe(true);
  });

  test("nothing that is not a member, and not an enrollment that another one replaced", () => {
    const states = ["pending", "approved", "rejected", "revoked"] as const;
    const others = states.map((state) => member(state, { state }));
    const replaced = {
      key: idOf("old"),
      value: encodeRecord(before.vouchers.mark(member("old", { peelId: "a" }))),
    };
    const found = succeedRecords([...entriesOf([member("a"), ...others]), replaced], options);
    expect(found.records.map(({ id }) => id)).toEqual([idOf("a")]);
    for (const record of others) expect(awaitsRecovery(record)).toBe(false);
  });

  test("not what no master of that fleet wrote", () => {
    const forged = entriesOf([member("forged")], other);
    const { decisionVoucher: _, identityVoucher: __, ...bare } = member("bare");
    const unmarked = [
      { key: bare.id, value: encodeRecord(bare) },
      { key: indexKey("bare"), value: encode(bare.id) },
    ];
    const junk = [{ key: idOf("junk"), value: encode("junk") }];
    const entries = [...entriesOf([member("a")]), ...forged, ...unmarked, ...junk];
    const found = succeedRecords(entries, options);
    expect(found.records.map(({ peelId }) => peelId)).toEqual(["a"]);
    expect(found.tampered).toEqual([idOf("forged"), idOf("bare")]);
  });

  test("a backup of another fleet is reported, an empty one is not", () => {
    expect(succeedRecords(entriesOf([member("a")], other), options).isForeign).toBe(true);
    expect(succeedRecords([], options)).toEqual({ records: [], tampered: [], isForeign: false });
  });

  test("a record that comes from a clock ahead is still newer than before", () => {
    const { records } = succeedRecords(entriesOf([member("a", { updatedAt: 8_000 })]), options);
    expect(records[0]?.updatedAt).toBe(8_001);
    expect(newestChange(entriesOf([member("a", { updatedAt: 8_000 }), member("b")]))).toBe(8_000);
    expect(newestChange([])).toBe(0);
  });
});

test("the file of records, whole or refused", () => {
  const { records } = succeedRecords(entriesOf([member("a"), member("b")]), options);
  const text = formatSucceeded(3, records);
  expect(parseSucceeded("f", text)).toEqual({ serial: 3, records });
  for (let end = 0; end < text.length - 1; end += 7) {
    expect(() => parseSucceeded("f", text.slice(0, end))).toThrow("f is damaged");
  }
});

describe("the first master", () => {
  const { records } = succeedRecords(entriesOf(["a", "b", "c"].map((name) => member(name))), options);
  const succession = { serial: 1, records };
  const master = (bucket = memoryBucket(), secrets = memoryBucket()) => ({
    ...{ enrollments: bucket, secrets, vouchers: after.vouchers, mac: after.mac, clock, log: recordingLog() },
  });
  const judged = async (deps: ReturnType<typeof master>) => {
    const all = await readEnrollments(deps.enrollments);
    const entries = (await deps.enrollments.entries()).filter(({ key }) => key.startsWith("enr-"));
    return {
      peels: all.map(({ peelId, state }) => [peelId, state]),
      vouched: succeedRecords(entries, { ...options, vouchers: after.vouchers }).isForeign === false,
    };
  };
  const complete = {
    peels: ["a", "b", "c"].map((name) => [name, "approved"]),
    vouched: true,
  };

  test("stores the records, vouched by the new fleet, once", async () => {
    const deps = master();
    expect(await adoptSuccession(deps, succession)).toBe(3);
    expect(await judged(deps)).toEqual(complete);
    const [first] = await readEnrollments(deps.enrollments);
    await deps.enrollments.remove(idOf("a"), (await deps.enrollments.get(idOf("a")))?.revision ?? 0);
    expect(first?.id).toBe(idOf("a"));
    // What was removed since stays removed.
    expect(await adoptSuccession(deps, succession)).toBeUndefined();
    expect(deps.enrollments.keys).not.toContain(idOf("a"));
  });

  test("and a second one at the same time end with the same records", async () => {
    const deps = master();
    const counts = await Promise.all([adoptSuccession(deps, succession), adoptSuccession(deps, succession)]);
    expect(counts[0] ?? 0).toBeGreaterThanOrEqual(0);
    expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(3);
    expect(await judged(deps)).toEqual(complete);
  });

  test("killed before any write is completed by the next start", async () => {
    for (let kill = 0; ; kill++) {
      const deps = master();
      let left = kill;
      const dies = () => {
        if (left-- <= 0) throw new Error("killed");
      };
      deps.enrollments.beforeWrite = dies;
      deps.secrets.beforeWrite = dies;
      const died = await adoptSuccession(deps, succession).then(
        () => false,
        () => true,
      );
      deps.enrollments.beforeWrite = () => {};
      deps.secrets.beforeWrite = () => {};
      await adoptSuccession(deps, succession);
      expect([kill, await judged(deps)]).toEqual([kill, complete]);
      expect(deps.secrets.keys).toEqual([successionMark]);
      if (!died) {
        expect(kill).toBe(7);
        return;
      }
    }
  });

  test("is not kept from it by a mark that no master made, nor by that of a fleet before", async () => {
    const deps = master();
    await deps.secrets.put(successionMark, encode({ serial: 1, at: "", voucher: new Uint8Array(32) }));
    expect(await adoptSuccession(deps, succession)).toBe(3);
    expect(await adoptSuccession(deps, { serial: 2, records: [] })).toBe(0);
    expect(await adoptSuccession(deps, { serial: 2, records: [] })).toBeUndefined();
  });

  test("leaves a record that changed since as it is", async () => {
    const deps = master();
    await adoptSuccession(deps, succession);
    const stored = await deps.enrollments.get(idOf("a"));
    const revoked = after.vouchers.mark({ ...member("a"), state: "revoked" });
    await deps.enrollments.update(idOf("a"), encodeRecord(revoked), stored?.revision ?? 0);
    const mark = await deps.secrets.get(successionMark);
    await deps.secrets.remove(successionMark, mark?.revision ?? 0);
    expect(await adoptSuccession(deps, succession)).toBe(0);
    const kept = await deps.enrollments.get(idOf("a"));
    expect(decodeRecord(kept?.value ?? new Uint8Array()).state).toBe("revoked");
  });
});
