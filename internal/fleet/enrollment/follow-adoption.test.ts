import { describe, expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { adoptionMark, newAdoptionMark } from "./adopt.ts";
import { createDirectory } from "./directory.ts";
import { followAdoption } from "./follow-adoption.ts";
import { decodeMap, type Enrollment, encodeRecord } from "./record.ts";
import { createAdoptionMemory } from "./remember-adoption.ts";
import { indexKey, insertEnrollment, loadEnrollment, saveEnrollment } from "./store.ts";
import type { Adoption } from "./verdict.ts";
import { createVouchers } from "./vouchers.ts";

const mac = createRecordMac(newKeyPair("account", systemRandom));
const vouchers = createVouchers(mac);
const quietMs = 30_000;
const idOf = (name: string) => `enr-${name.padStart(27, "0")}`;
const record = (name: string): Enrollment => ({
  ...{ id: idOf(name), peelId: name, publicKey: "U", curvePublicKey: "X" },
  ...{ state: "active", createdAt: 1_000, updatedAt: 1_000 },
});
const newBeat = encode({ hostname: "n", version: "2", vouches: true });
/** What masters of an earlier version send. */
const oldBeat = encode({ hostname: "o", version: "1" });

/** A bus, with what masters of this version on it share. */
function setupBus() {
  const [bucket, secrets, heartbeats] = [memoryBucket(), memoryBucket(), memoryBucket()];
  const clock = manualClock();
  const log = recordingLog();
  /** @param disk what this master keeps outside the bus; absent for a new one */
  const startMaster = async (automatic = true, disk: { mark?: Uint8Array } = {}) => {
    const note = {
      read: () => disk.mark,
      keep: async (mark: Uint8Array) => {
        disk.mark = mark;
      },
    };
    const memory = createAdoptionMemory({ note, secrets, mac, clock, log });
    const state: { current: Adoption } = { current: await memory.recall() };
    const enrollments = { ...bucket, vouchers, adoption: () => state.current };
    const directory = createDirectory({ enrollments, log });
    const adopts = { enrollments, vouchers, secrets, mac, clock, log };
    const adoption = followAdoption({ ...adopts, directory, heartbeats, automatic, state, memory, quietMs });
    await adoption.ready;
    const trusts = () =>
      Object.fromEntries(
        directory.list({ state: "all", limit: 100 }).map(({ peel_id, trust }) => [peel_id, trust]),
      );
    return { enrollments, directory, adoption, state, trusts };
  };
  const standing = async (name: string) => {
    const { value = new Uint8Array() } = (await bucket.get(idOf(name))) ?? {};
    return vouchers.judge(decodeMap(value));
  };
  const events = () => log.records.map(({ event }) => event);
  const waits = () =>
    log.records.flatMap(({ event, fields }) =>
      event.endsWith("not enforced yet") ? [fields.waits_for] : [],
    );
  return { bucket, secrets, heartbeats, clock, log, startMaster, standing, events, waits };
}

/** Records as a master of an earlier version writes them: without vouchers, or with those of what was before. */
async function writeAsBefore(bucket: ReturnType<typeof memoryBucket>) {
  await insertEnrollment(bucket, record("bare"), undefined);
  const approved = { ...vouchers.mark({ ...record("stale"), state: "issued" }), state: "active" } as const;
  await insertEnrollment(bucket, approved, undefined);
}

describe("records as masters of an earlier version write them", () => {
  test("count until the adoption, and are adopted, with stale vouchers as well", async () => {
    const { bucket, clock, startMaster, standing, events } = setupBus();
    await writeAsBefore(bucket);
    const { directory, enrollments, state, trusts } = await startMaster();
    expect(state.current).toBe("awaited");
    expect(directory.members()).toEqual(["bare", "stale"]);
    expect(trusts()).toEqual({ bare: "UNVOUCHED", stale: "UNVOUCHED" });
    expect(directory.distrusted()).toEqual({ TAMPERED: 0, UNVOUCHED: 2 });
    expect((await loadEnrollment(enrollments, idOf("stale"))).record.state).toBe("active");
    await clock.pass(quietMs);
    expect(state.current).toBe("done");
    expect([await standing("bare"), await standing("stale")]).toEqual(["vouched", "vouched"]);
    expect(directory.members()).toEqual(["bare", "stale"]);
    expect(trusts()).toEqual({ bare: "-", stale: "-" });
    expect(events()).not.toContain("an enrollment record that no master vouches for counts for nothing");
  });

  test("count for nothing after the adoption, on masters of later as well", async () => {
    const { bucket, startMaster, events } = setupBus();
    const first = await startMaster();
    expect(first.state.current).toBe("done");
    await writeAsBefore(bucket);
    for (const { directory, enrollments, trusts } of [first, await startMaster()]) {
      expect(directory.members()).toEqual([]);
      expect(trusts()).toEqual({ bare: "TAMPERED", stale: "TAMPERED" });
      await expect(loadEnrollment(enrollments, idOf("stale"))).rejects.toMatchObject({ kind: "not_found" });
    }
    expect(events()).toContain("an enrollment record that no master vouches for counts for nothing");
  });

  test("what a master of this version writes before the adoption has vouchers", async () => {
    const { bucket, heartbeats, startMaster, standing } = setupBus();
    await heartbeats.put("old", oldBeat);
    await writeAsBefore(bucket);
    const { enrollments } = await startMaster();
    const found = await loadEnrollment(enrollments, idOf("bare"));
    await saveEnrollment(enrollments, { ...found.record, updatedAt: 2_000 }, found.revision);
    expect([await standing("bare"), await standing("stale")]).toEqual(["vouched", "tampered"]);
  });
});

describe("while a master of an earlier version runs", () => {
  test("nothing is adopted; one line and /readyz name it, until it stops", async () => {
    const { bucket, secrets, heartbeats, clock, startMaster, waits } = setupBus();
    await writeAsBefore(bucket);
    await heartbeats.put("new", newBeat);
    await heartbeats.put("old-b", oldBeat);
    const revision = await heartbeats.put("old-a", oldBeat);
    const { adoption, state } = await startMaster();
    const wait = "the end of masters of an earlier version: old-a, old-b";
    for (let beat = 0; beat < 12; beat++) {
      await clock.pass(5_000);
      await heartbeats.put("old-b", oldBeat);
    }
    expect(waits()).toEqual([wait]);
    expect(adoption.check()).toEqual({
      status: "up",
      message: "vouchers are not enforced yet: the end of masters of an earlier version: old-b",
    });
    await heartbeats.remove("old-a", revision);
    expect([state.current, await secrets.get(adoptionMark)]).toEqual(["awaited", undefined]);
    const last = await heartbeats.get("old-b");
    await heartbeats.remove("old-b", last?.revision ?? 0);
    await settle();
    expect(state.current).toBe("done");
    expect(adoption.check()).toEqual({ status: "up" });
  });

  test("one that is killed is waited for as long as it could come back", async () => {
    const { bucket, heartbeats, clock, startMaster } = setupBus();
    await writeAsBefore(bucket);
    const { state } = await startMaster();
    await clock.pass(quietMs - 1_000);
    await heartbeats.put("old", oldBeat);
    await clock.pass(quietMs - 1);
    expect(state.current).toBe("awaited");
    await clock.pass(1);
    expect(state.current).toBe("done");
  });

  test("an operator cannot adopt either, and is told what to stop", async () => {
    const { bucket, heartbeats, log, startMaster } = setupBus();
    await writeAsBefore(bucket);
    await heartbeats.put("old", oldBeat);
    const { adoption } = await startMaster(false);
    await expect(adoption.adopt(log)).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("masters of an earlier version: old"),
    });
  });

  test("after the adoption, masters report it and are degraded", async () => {
    const { heartbeats, clock, startMaster, log } = setupBus();
    const { adoption } = await startMaster();
    for (let beat = 0; beat < 3; beat++) await heartbeats.put("old", oldBeat);
    const reports = log.records.filter(({ fields }) => fields.master === "old");
    expect(reports.map(({ level }) => level)).toEqual(["error"]);
    expect(adoption.check()).toMatchObject({
      status: "degraded",
      message: expect.stringContaining("stop or upgrade old"),
    });
    await clock.pass(quietMs);
    expect(adoption.check()).toEqual({ status: "up" });
  });
});

test("all masters enforce vouchers when one of them has adopted the records", async () => {
  const { bucket, log, clock, startMaster, waits } = setupBus();
  await writeAsBefore(bucket);
  const [first, second] = [await startMaster(false), await startMaster(false)];
  await clock.pass(quietMs);
  expect([waits(), first.state.current]).toEqual([
    ["svc enroll vouch --all", "svc enroll vouch --all"],
    "withheld",
  ]);
  for (const { directory, trusts, adoption } of [first, second]) {
    expect(directory.members()).toEqual([]);
    expect(trusts()).toEqual({ bare: "UNVOUCHED", stale: "UNVOUCHED" });
    expect(directory.distrusted()).toEqual({ TAMPERED: 0, UNVOUCHED: 2 });
    expect(adoption.check()).toMatchObject({
      status: "degraded",
      message: expect.stringContaining("vouch --all"),
    });
  }
  // Written by others in the meantime: an operator has seen the list.
  expect(await first.adoption.adopt(log)).toEqual({ adopted: 2, refused: 0 });
  await settle();
  for (const { state, directory, adoption } of [first, second]) {
    expect(state.current).toBe("done");
    expect(directory.members()).toEqual(["bare", "stale"]);
    await insertEnrollment(bucket, record(`later${state === first.state ? 1 : 2}`), undefined);
    expect(directory.members()).toEqual(["bare", "stale"]);
    expect((await adoption.adopt(log)).adopted).toBe(0);
  }
});

test("what is written between the adoption and the mark counts for nothing from the mark on", async () => {
  const { bucket, secrets, clock, startMaster } = setupBus();
  await writeAsBefore(bucket);
  const { directory, trusts } = await startMaster();
  secrets.beforeWrite = () => insertEnrollment(bucket, record("between"), undefined).then(() => {});
  await clock.pass(quietMs);
  expect(directory.members()).toEqual(["bare", "stale"]);
  expect(trusts()).toMatchObject({ between: "TAMPERED" });
});

test("what is not a record keeps nobody from the adoption, and a record is never another one's", async () => {
  const { bucket, clock, startMaster } = setupBus();
  await bucket.put(idOf("junk"), encode({ id: idOf("junk"), state: "active" }));
  await bucket.put(idOf("copy"), encodeRecord(vouchers.mark(record("own"))));
  await insertEnrollment(bucket, record("own"), undefined);
  await bucket.put(indexKey("other"), encode(idOf("own")));
  const { directory, state } = await startMaster();
  expect(directory.members()).toEqual(["own"]);
  await clock.pass(quietMs);
  expect([state.current, directory.members()]).toEqual(["done", ["own"]]);
});

test.each([
  ["a mark that no master made", encode({ at: "2026-01-01T00:00:00.000Z", voucher: new Uint8Array(32) })],
  ["what is not a mark", new Uint8Array([0xc1, 0, 7])],
])("%s is reported, and vouchers are enforced", async (_, mark) => {
  const { bucket, secrets, startMaster, events } = setupBus();
  await writeAsBefore(bucket);
  await secrets.put(adoptionMark, mark);
  const { state, directory } = await startMaster();
  expect([state.current, directory.members()]).toEqual(["done", []]);
  expect(events()).toContain("the mark of adopted enrollments is not one of a master");
});

test("a failed adoption is tried again", async () => {
  const { bucket, secrets, clock, startMaster, events } = setupBus();
  await writeAsBefore(bucket);
  const { state } = await startMaster();
  secrets.beforeWrite = () => {
    secrets.beforeWrite = () => {};
    throw new Error("no leader");
  };
  await clock.pass(quietMs);
  expect([state.current, events().includes("enrollment records not adopted")]).toEqual(["awaited", true]);
  await clock.pass(quietMs);
  expect(state.current).toBe("done");
  expect(decode((await secrets.get(adoptionMark))?.value ?? new Uint8Array())).toHaveProperty("voucher");
});

describe("who controls the bus deletes the mark", () => {
  const gone = async ({ secrets }: ReturnType<typeof setupBus>) => {
    const mark = await secrets.get(adoptionMark);
    expect(await secrets.remove(adoptionMark, mark?.revision ?? 0)).toBe(true);
  };
  const missing = "the mark of adopted enrollments was missing on the bus, and was put back";

  test("and a master that runs puts it back, so that a new one adopts nothing", async () => {
    const one = setupBus();
    await one.startMaster();
    await gone(one);
    await settle();
    expect(await one.secrets.get(adoptionMark)).toBeDefined();
    await writeAsBefore(one.bucket);
    const { state, directory } = await one.startMaster();
    await one.clock.pass(2 * quietMs);
    expect([state.current, directory.members()]).toEqual(["done", []]);
    expect(one.events()).toContain(missing);
  });

  test("and a master that was stopped remembers it", async () => {
    const one = setupBus();
    await writeAsBefore(one.bucket);
    const disk: { mark?: Uint8Array } = {};
    const first = await one.startMaster(true, disk);
    await one.clock.pass(quietMs);
    first.adoption.stop();
    await gone(one);
    await insertEnrollment(one.bucket, record("planted"), undefined);
    const { state, directory, trusts } = await one.startMaster(true, disk);
    await one.clock.pass(2 * quietMs);
    expect([state.current, directory.members()]).toEqual(["done", ["bare", "stale"]]);
    expect(trusts()).toMatchObject({ planted: "TAMPERED" });
    expect(await one.secrets.get(adoptionMark)).toBeDefined();
  });

  test("and a master of an earlier version, which remembers nothing, learns it from the bus", async () => {
    const one = setupBus();
    await one.startMaster();
    const disk: { mark?: Uint8Array } = {};
    await one.startMaster(true, disk);
    expect(disk.mark).toBeDefined();
  });

  test("and what another fleet made, or nobody, does not count as memory of it", async () => {
    for (const mark of [
      newAdoptionMark(createRecordMac(newKeyPair("account", systemRandom)), 0),
      new Uint8Array(3),
    ]) {
      const one = setupBus();
      await writeAsBefore(one.bucket);
      const { state } = await one.startMaster(true, { mark });
      expect(state.current).toBe("awaited");
      await one.clock.pass(quietMs);
      expect(state.current).toBe("done");
    }
  });
});
