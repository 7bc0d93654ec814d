import { encode, type Plain } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { keySubject } from "../../internal/bus/subjects/subjects.ts";
import { encodeRecord } from "../../internal/fleet/enrollment/record/record.ts";
import { indexKey } from "../../internal/fleet/enrollment/store/store.ts";
import { connectTo, type TestBus } from "./bus.ts";
import { until } from "./until.ts";
import { vouchersOf } from "./vouchers.ts";

/** A member that only the buckets know: no program runs for it. */
export interface StoredPeel {
  address?: string;
  labels?: Record<string, string>;
  facts?: Plain;
}

/** A server takes in so many messages before it has stored them, and drops others. */
const together = 2_000;

/** Stores members as masters and peels store them. @param peels by encoded peel id */
export async function storePeels(bus: TestBus, peels: Readonly<Record<string, StoredPeel>>): Promise<void> {
  const stored = await connectTo(bus, "master");
  try {
    const vouchers = vouchersOf(bus);
    const [enrollments, factsBucket] = await Promise.all([
      openBucket(stored, "enrollments"),
      openBucket(stored, "facts"),
    ]);
    for (const [at, [peelId, { facts, ...seen }]] of Object.entries(peels).entries()) {
      const id = `enr-${`${at}`.padStart(27, "0")}`;
      // No two peels have one key.
      const keys = { publicKey: `U${at}`, curvePublicKey: `X${at}` };
      const times = { createdAt: 1_000, updatedAt: 1_000, credsExpiresAt: 2_000_000_000_000 };
      const record = vouchers.mark({ id, peelId, ...keys, ...times, ...seen, state: "active" });
      stored.nats.publish(keySubject("enrollments", id), encodeRecord(record));
      stored.nats.publish(keySubject("enrollments", indexKey(peelId)), encode(id));
      if (facts !== undefined) await factsBucket.put(peelId, encode(facts));
      // Messages of a connection are stored in their order: when the bus confirms one, it has those before.
      if (at % together === 0) await enrollments.put(indexKey(peelId), encode(id));
    }
    const [last] = Object.keys(peels).slice(-1);
    if (last !== undefined)
      await until(async () => (await enrollments.get(indexKey(last))) !== undefined || undefined);
  } finally {
    await stored.drain();
  }
}
