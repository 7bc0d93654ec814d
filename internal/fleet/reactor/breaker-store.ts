import * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { record } from "../../base/record.ts";
import { list, part, time } from "../../base/record-kinds.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { OpenBreaker } from "./breaker.ts";

const key = "breakers";

const isOpen = true;
const opened = { rule: v.string(), openedAt: ["opened_at", time], openUntil: ["open_until", time] } as const;
const stored = record("breakers", { token: v.number(), open: list(part(opened, { isOpen })) }, { isOpen });

/** Stores the open breakers for the next holder of the lease. */
export interface BreakerStore {
  /** The stored breakers; empty when they cannot be read. */
  load(): Promise<OpenBreaker[]>;
  /** Replaces the stored breakers soon. A newer call replaces a pending one. */
  save(open: readonly OpenBreaker[]): void;
  /** Resolves when all writes have finished or failed. */
  settled(): Promise<void>;
}

/** @param token fencing token of the tenure: a late write of an earlier tenure never replaces a newer one */
export function createBreakerStore(options: {
  bucket: Pick<Bucket, "get" | "create" | "update">;
  token: number;
  log: Log;
}): BreakerStore {
  const { bucket, token, log } = options;
  let next: readonly OpenBreaker[] | undefined;
  let writing = Promise.resolve();

  const write = async (open: readonly OpenBreaker[]): Promise<void> => {
    const value = stored.encode({ token, open });
    const attempt = async () => {
      const entry = await bucket.get(key);
      if (entry !== undefined && (stored.decodeOrNothing(entry.value)?.token ?? 0) > token) return undefined;
      const revision =
        entry === undefined
          ? await bucket.create(key, value)
          : await bucket.update(key, value, entry.revision);
      return revision === undefined ? conflict : undefined;
    };
    await retryOnConflict(attempt, { exhausted: "other masters write them all the time" });
  };
  const drain = async () => {
    while (next !== undefined) {
      const open = next;
      next = undefined;
      await write(open).catch((thrown) => {
        log.warn("the open breakers of the reactor are not stored", { reason: describeError(thrown) });
      });
    }
  };
  return {
    async load() {
      try {
        const entry = await bucket.get(key);
        return [...((entry && stored.decodeOrNothing(entry.value))?.open ?? [])];
      } catch (thrown) {
        log.warn("the open breakers of the reactor are not known", { reason: describeError(thrown) });
        return [];
      }
    },
    save(open) {
      const isIdle = next === undefined;
      next = open;
      if (isIdle) writing = writing.then(drain);
    },
    settled: () => writing,
  };
}
