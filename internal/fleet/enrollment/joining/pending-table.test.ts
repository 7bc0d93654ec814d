import { describe, expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { defined } from "../../../base/defined.ts";
import { SvcError } from "../../../base/errors.ts";
import type { Enrollment } from "../record/record.ts";
import { applyEvent } from "../store/apply.ts";
import { createDirectory } from "../store/directory.ts";
import { insertEnrollment, readEnrollments, removePending } from "../store/store.ts";
import { createOccupy } from "./occupy.ts";
import { createPendingTable } from "./pending-table.ts";

/** A host that proved nothing, and waits. */
const stranger = { address: undefined, waits: true, proven: false };
const idOf = (name: string) => `enr-${name.padStart(27, "0")}`;

function setup(
  max: number,
  space: { bytes: number; maxBytes: number } | undefined = undefined,
  enrollments = memoryBucket(),
) {
  const clock = manualClock();
  const directory = createDirectory({ enrollments, log: recordingLog() });
  let deferred = 0;
  const metrics = { pendingTableFull: () => void deferred++ };
  let measured = 0;
  const measure = async () => {
    measured++;
    return space;
  };
  const table = createPendingTable({ directory, max, space: measure, metrics, clock });
  const store = (name: string, state: Enrollment["state"] = "pending", address?: string) =>
    insertEnrollment(
      enrollments,
      {
        id: idOf(name),
        peelId: name,
        publicKey: "U",
        curvePublicKey: "X",
        ...defined({ address }),
        state,
        createdAt: 1_000,
        updatedAt: 1_000,
      },
      undefined,
    );
  const reject = (name: string) =>
    applyEvent({ enrollments, clock }, idOf(name), { type: "reject", operator: "ann" });
  const approve = (name: string) =>
    applyEvent({ enrollments, clock }, idOf(name), { type: "approve", operator: "ann", force: false });
  const withdraw = (name: string) => removePending(enrollments, idOf(name), 1_000);
  return {
    clock,
    directory,
    table,
    store,
    reject,
    approve,
    withdraw,
    ...{ enrollments },
    deferred: () => deferred,
    measured: () => measured,
  };
}
const full = expect.objectContaining({ kind: "unavailable", retryAfterMs: 60_000 });

test("only what is pending takes a place, and a full table says when to come again", async () => {
  const { table, store, deferred } = setup(2);
  await store("active-1", "active");
  await store("web-1");
  (await table.take(stranger)).giveBack();
  await store("web-2");
  await expect(table.take(stranger)).rejects.toThrow(full);
  expect(deferred()).toBe(1);
});

test("enrollments of one moment do not exceed the limit together", async () => {
  const { table } = setup(3);
  const places = await Promise.all(["a-1", "a-2", "a-3"].map(() => table.take(stranger)));
  await expect(table.take(stranger)).rejects.toThrow(full);
  places[0]?.giveBack();
  await table.take(stranger);
  await expect(table.take(stranger)).rejects.toThrow(full);
});

test("a stored record counts once, as soon as the directory knows it", async () => {
  const { table, store } = setup(2);
  const place = await table.take(stranger);
  place.giveBack(idOf("a-1"));
  (await table.take(stranger)).giveBack();
  await store("a-1");
  await table.take(stranger);
  await expect(table.take(stranger)).rejects.toThrow(full);
});

test("an enrollment that is decided about takes no place, as soon as the directory knows it", async () => {
  const { table, store } = setup(1);
  (await table.take(stranger)).giveBack(idOf("a-1"));
  await expect(table.take(stranger)).rejects.toThrow(full);
  await store("a-1", "active");
  await table.take(stranger);
});

test("a record that the directory never sees does not take its place for ever", async () => {
  const { table, clock } = setup(1);
  (await table.take(stranger)).giveBack(idOf("a-1"));
  await expect(table.take(stranger)).rejects.toThrow(full);
  clock.advance(10_000);
  await table.take(stranger);
});

test("newcomers leave a quarter of the bucket for decisions, also those of one moment", async () => {
  const kibibyte = 1024;
  const { table, deferred } = setup(1_000, { bytes: 726 * kibibyte, maxBytes: 1_024 * kibibyte });
  // 768 KiB are for newcomers, and each may take 8 KiB.
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => table.take(stranger)));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
  expect(deferred()).toBe(5);
  const open = setup(1_000, { bytes: 1e12, maxBytes: -1 });
  await open.table.take(stranger);
});

test("the bucket is measured once for many enrollments, and again after a second", async () => {
  const { table, clock, measured } = setup(1_000, { bytes: 0, maxBytes: 1e9 });
  for (let count = 0; count < 128; count++) {
    (await table.take(stranger)).giveBack(idOf(`a-${count}`));
  }
  expect(measured()).toBeLessThanOrEqual(3);
  const before = measured();
  clock.advance(1_000);
  await table.take(stranger);
  expect(measured()).toBe(before + 1);
});

const proven = { ...stranger, proven: true };
const from = (address: string) => ({ ...stranger, address });

test("who proved itself, or is decided about, is not refused because others wait", async () => {
  const { table, store } = setup(1);
  await store("web-1");
  await expect(table.take(stranger)).rejects.toThrow(full);
  for (let count = 0; count < 3; count++) await table.take(proven);
  await table.take({ ...stranger, waits: false });
});

test("places of those who proved themselves keep nobody else out while they are stored", async () => {
  const { table } = setup(1);
  for (let count = 0; count < 3; count++) await table.take(proven);
  await table.take(stranger);
  await expect(table.take(stranger)).rejects.toThrow(full);
});

test("strangers leave room in the bucket for those who prove themselves, and those for decisions", async () => {
  const kibibyte = 1024;
  const { table } = setup(1_000, { bytes: 760 * kibibyte, maxBytes: 1_024 * kibibyte });
  await table.take(stranger);
  await expect(table.take(stranger)).rejects.toThrow(full);
  // 896 KiB are for them.
  const results = await Promise.allSettled(Array.from({ length: 30 }, () => table.take(proven)));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(16);
});

test.each([
  ["192.0.2.7", "::ffff:192.0.2.7", "192.0.2.8"],
  ["2001:db8:1:2::1", "2001:db8:1:ffff::7", "2001:db8:2::1"],
])("one source holds a tenth of the places, rounded up: %s", async (one, same, other) => {
  const { table, store, deferred } = setup(11);
  const refused = expect.objectContaining({
    ...{ kind: "unavailable", retryAfterMs: 60_000 },
    message: expect.stringContaining("too many enrollments from this address are pending"),
  });
  (await table.take(from(one))).giveBack(idOf("web-1"));
  const place = await table.take(from(same));
  await expect(table.take(from(one))).rejects.toThrow(refused);
  // What is stored counts once, and what is decided no longer.
  await store("web-1", "pending", same);
  await expect(table.take(from(one))).rejects.toThrow(refused);
  await table.take(from(other));
  await table.take({ ...proven, address: one });
  place.giveBack();
  await table.take(from(one));
  expect(deferred()).toBe(2);
});

test("a decision gives the place back to its source", async () => {
  const { table, store, reject } = setup(10);
  await store("web1", "pending", "192.0.2.7");
  await expect(table.take(from("192.0.2.7"))).rejects.toThrow("from this address");
  await reject("web1");
  await table.take(from("192.0.2.7"));
});

describe("masters that take places at the same moment", () => {
  /** Two masters with one bucket, and a record that each of them is about to store. */
  async function race(max: number, address?: string) {
    const one = setup(max);
    const other = setup(max, undefined, one.enrollments);
    const newcomer = { ...stranger, address };
    const places = [await one.table.take(newcomer), await other.table.take(newcomer)] as const;
    const names = ["web1", "web2"] as const;
    const occupy = (at: 0 | 1, after: () => Promise<unknown> = async () => {}) =>
      places[at].occupy(
        idOf(names[at]),
        async () => {
          const stored = await one.store(names[at], "pending", address);
          await after();
          return stored;
        },
        () => one.withdraw(names[at]),
      );
    const held = async () => (await readEnrollments(one.enrollments)).map(({ peelId }) => peelId);
    return { one, other, occupy, held };
  }

  test("hold no more than the limit together: what is stored first stays", async () => {
    const { one, other, occupy, held } = await race(1);
    const [first, second] = await Promise.allSettled([occupy(0), occupy(1)]);
    expect(first).toMatchObject({ status: "fulfilled", value: { record: { peelId: "web1" } } });
    expect(second).toMatchObject({ status: "rejected", reason: full });
    expect(await held()).toEqual(["web1"]);
    expect([one.deferred(), other.deferred()]).toEqual([0, 1]);
  });

  test("keep both while there is room for both", async () => {
    const { occupy, held } = await race(2);
    await Promise.all([occupy(0), occupy(1)]);
    expect(await held()).toEqual(["web1", "web2"]);
  });

  test("hold no more from one address than its part", async () => {
    const { occupy, held } = await race(10, "192.0.2.7");
    await occupy(0);
    await expect(occupy(1)).rejects.toThrow("too many enrollments from this address are pending");
    expect(await held()).toEqual(["web1"]);
  });

  test("leave what an operator decided about meanwhile", async () => {
    const { one, occupy, held } = await race(1);
    await occupy(0);
    await occupy(1, () => one.approve("web2"));
    expect(await held()).toEqual(["web1", "web2"]);
  });

  const freely = {
    refusalOf: () => undefined,
    refuse(message: string): never {
      throw new Error(message);
    },
  };

  test("withdraw what they cannot count, as the bus does not show it", async () => {
    const { one, held } = await race(2);
    const unseen = createOccupy({
      directory: {
        ready: Promise.resolve(),
        caughtUp: () => Promise.reject(new SvcError("unavailable", "not read completely yet")),
        onCounted: () => () => {},
      },
      ...freely,
      clock: one.clock,
    });
    const kept = unseen(
      idOf("web1"),
      () => one.store("web1"),
      () => one.withdraw("web1"),
    );
    const refused = kept.catch((thrown: unknown) => thrown);
    await one.clock.asleep();
    one.clock.advance(1_000);
    expect(await refused).toMatchObject({ kind: "unavailable" });
    expect(await held()).toEqual([]);
  });

  test("keep what was decided about before they see it", async () => {
    const { one } = await race(2);
    const late = createOccupy({
      directory: { ready: Promise.resolve(), caughtUp: async () => {}, onCounted: () => () => {} },
      ...freely,
      clock: one.clock,
    });
    const kept = late(
      "x",
      async () => "stored",
      async () => false,
    );
    await one.clock.asleep();
    one.clock.advance(1_000);
    expect(await kept).toBe("stored");
  });
});
