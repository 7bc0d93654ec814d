import { dirname, resolve } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import { lockFile } from "../../../base/files/lock-file.ts";
import { makePrivateDirectory } from "../../../base/files/new-files.ts";
import type { Log } from "../../../base/log.ts";
import { countStored } from "../../../bus/assets/mod.ts";
import { readSingly } from "../../../bus/storage/mod.ts";
import {
  createMemoryLog,
  type DecisionLog,
  openDecisionLog,
  startDecisionReconciler,
} from "../../../fleet/decisions/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import { catchUp } from "./catch-up.ts";
import type { Connected } from "./connect.ts";
import type { Opened } from "./storage.ts";

/** Decisions outside the bus: their log, and the buckets that write to it. */
export const decisions = {
  start: ({
    base,
    connection: { bus },
    opened,
  }: {
    base: MasterDeps;
    connection: Connected;
    opened: Opened;
  }) =>
    assemble(async (stack) => {
      const { config, clock, log } = base;
      const { storage, vouchers } = opened;
      const outside = openLog(resolve(config.decisions_log), clock, log);
      stack.defer(() => outside.close());
      const reconciler = startDecisionReconciler({
        buckets: { enrollments: storage.enrollments, revocations: storage.revocations },
        log: outside.log,
        readSingly: (bucket, until) => readSingly(bus, bucket, until),
        counts: () => Promise.all([countStored(bus, "enrollments"), countStored(bus, "revocations")]),
        onReconnect: bus.onReconnect,
        pendingTtlMs: config["enroll.pending_ttl"],
        readings: storage.enrollments.readings,
        vouched: vouchers.fits,
        clock,
        report: log,
      });
      stack.defer(() => reconciler.stop());
      await catchUp("decisions", reconciler.ready, base);
      return {
        decisions: reconciler,
        /** All buckets; what is written to those of decisions is logged before it is acknowledged. */
        storage: {
          ...storage,
          ...reconciler.buckets,
          enrollments: { ...storage.enrollments, ...reconciler.buckets.enrollments },
        },
        checks: {
          decisions: () => {
            const { problem: message } = reconciler;
            if (message === undefined) return { status: "up" } as const;
            // While its log cannot be written, this master decides nothing: another one must decide.
            const isStuck = outside.onDisk && outside.log.failure !== undefined;
            return { status: isStuck ? "down" : "degraded", message } as const;
          },
        },
        view: {
          decisions: () => ({
            lost: reconciler.lost,
            restored: reconciler.restored,
            failed: outside.log.failure !== undefined,
          }),
        },
      };
    }),
};

export type Decisions = OffersOf<typeof decisions>;

/** Opens the log of this master. A master that cannot use its path runs without one, and reports it. */
function openLog(path: string, clock: Clock, log: Log): { log: DecisionLog; onDisk: boolean; close(): void } {
  const without = (reason: string) => {
    log.error("decisions are not logged outside the bus", { path, reason });
    return { log: createMemoryLog(reason, clock), onDisk: false, close() {} };
  };
  let lock: ReturnType<typeof lockFile>;
  try {
    makePrivateDirectory(dirname(path));
    lock = lockFile(`${path}.lock`);
    if (lock === undefined) {
      return without(`another master uses ${path}: set decisions_log to a different path for each master`);
    }
    const opened = openDecisionLog(path, { clock, log });
    return {
      log: opened,
      onDisk: true,
      close() {
        opened.close();
        lock?.release();
      },
    };
  } catch (cause) {
    lock?.release();
    return without(describeError(cause));
  }
}
