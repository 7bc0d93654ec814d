import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { instant } from "../../base/instant.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { OpenBreaker } from "./breaker.ts";

const key = "breakers";

const stored = v.object({
  token: v.number(),
  open: v.array(v.object({ rule: v.string(), opened_at: instant, open_until: instant })),
});

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
    const value = encode({
      token,
      open: open.map(({ rule, openedAt, openUntil }) => ({
        rule,
        opened_at: rfc3339(openedAt),
        open_until: rfc3339(openUntil),
      })),
    });
    const attempt = async () => {
      const entry = await bucket.get(key);
      if (entry !== undefined && (read(entry.value)?.token ?? 0) > token) return undefined;
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
        const open = entry === undefined ? [] : (read(entry.value)?.open ?? []);
        return open.map(({ rule, opened_at, open_until }) => ({
          rule,
          openedAt: opened_at,
          openUntil: open_until,
        }));
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

function read(bytes: Uint8Array): v.InferOutput<typeof stored> | undefined {
  try {
    const parsed = v.safeParse(stored, decode(bytes));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}
