import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket, Entry } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { decodeExpected, type ExpectedHost } from "./record.ts";

export interface ExpectedStore {
  /** The bucket `expected`. */
  bucket: Pick<Bucket, "get" | "create" | "update" | "remove">;
  mac: RecordMac;
  log: Log;
}

/** An entry with the revision that the next compare-and-swap must name. */
export interface FoundHost {
  host: ExpectedHost;
  revision: number;
}

/** The entry of a peel id. What no master made is logged, and does not count. */
export async function findExpected(store: ExpectedStore, peelId: string): Promise<FoundHost | undefined> {
  const entry = await store.bucket.get(peelId);
  return entry === undefined ? undefined : readExpected(store, entry);
}

/** @returns `undefined` for what no master made, which is logged */
export function readExpected(
  { mac, log }: Pick<ExpectedStore, "mac" | "log">,
  { key, value, revision }: Pick<Entry, "key" | "value" | "revision">,
): FoundHost | undefined {
  try {
    const host = decodeExpected(mac, key, value);
    if (host !== undefined) return { host, revision };
    log.error("a stored entry of an expected host is not from a master; it does not count", { key });
  } catch (thrown) {
    const reason = describeError(thrown);
    log.error("a stored entry of an expected host cannot be read; it does not count", { key, reason });
  }
  return undefined;
}
