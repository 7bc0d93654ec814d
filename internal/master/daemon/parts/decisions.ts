import { dirname, resolve } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { defined } from "../../../base/defined.ts";
import { describeError } from "../../../base/errors.ts";
import { lockFile } from "../../../base/files/lock-file.ts";
import { makePrivateDirectory } from "../../../base/files/new-files.ts";
import type { Log } from "../../../base/log.ts";
import { countStored } from "../../../bus/assets/mod.ts";
import { readSingly } from "../../../bus/storage/mod.ts";
import {
  createMemoryLog,
  type DecisionLog,
  decisionBuckets,
  openDecisionLog,
  startDecisionReconciler,
} from "../../../fleet/decisions/mod.ts";
import { createRecordJudge } from "../../../fleet/operators/mod.ts";
import { createReleaseJudge, followReleases } from "../../../fleet/releases/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import { catchUp } from "./catch-up.ts";
import type { Connected } from "./connect.ts";
import type { Operators } from "./operators.ts";
import type { Roles } from "./roles.ts";
import type { Opened } from "./storage.ts";

/** Decisions outside the bus: their log, and the buckets that write to it. */
export const decisions = {
  start: ({
    base,
    connection: { bus },
    opened,
    operators,
    roles,
  }: {
    base: MasterDeps;
    connection: Connected;
    opened: Opened;
    operators: Operators;
    roles: Roles;
  }) =>
    assemble(async (stack) => {
      const { config, keys, clock, log } = base;
      const { storage, vouchers } = opened;
      const outside = openLog(resolve(config.decisions_log), clock, log);
      stack.defer(() => outside.close());
      const { judge, operatorJudge } = judgesOf({ base, operators, roles, known: outside.log.known() });
      const { enrollments, revocations, releases: released, operators: registered } = storage;
      const reconciler = startDecisionReconciler({
        buckets: { enrollments, revocations, releases: released, operators: registered },
        log: outside.log,
        readSingly: (bucket, until) => readSingly(bus, bucket, until),
        counts: () => Promise.all(decisionBuckets.map((name) => countStored(bus, name))),
        onReconnect: bus.onReconnect,
        pendingTtlMs: config["enroll.pending_ttl"],
        readings: storage.enrollments.readings,
        vouched: vouchers.fits,
        isGoodRelease: (bytes, release) => judge.refusalOf(bytes, release) === undefined,
        isGoodOperator: operatorJudge.isGood,
        clock,
        report: log,
      });
      stack.defer(() => reconciler.stop());
      await catchUp("decisions", reconciler.ready, base);
      // What other masters decided about operators is logged as it comes; the registry reads the bus itself.
      const logging = reconciler.buckets.operators.watch(() => {});
      stack.defer(() => logging.stop());
      const releases = followReleases({ bucket: reconciler.buckets.releases, judge, log });
      stack.defer(() => releases.stop());
      await catchUp("releases", releases.ready, base);
      return {
        decisions: reconciler,
        /** The releases of state files that count. */
        releases: {
          ...{ bucket: reconciler.buckets.releases, releases, judge },
          fleet: keys.account.publicKey,
        },
        /** All buckets; what is written to those of decisions is logged before it is acknowledged. */
        storage: {
          ...storage,
          ...reconciler.buckets,
          enrollments: { ...storage.enrollments, ...reconciler.buckets.enrollments },
        },
        checks: {
          decisions: () => {
            const { problem: message, next } = reconciler;
            if (message === undefined) return { status: "up" } as const;
            // While its log cannot be written, this master decides nothing: another one must decide.
            const isStuck = outside.onDisk && outside.log.failure !== undefined;
            return { status: isStuck ? "down" : "degraded", message, ...defined({ next }) } as const;
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

/** Judges of records of releases and operators, which know what the log has. */
function judgesOf({
  base: { keys, clock },
  operators: { registry },
  roles,
  known,
}: {
  base: MasterDeps;
  operators: Operators;
  roles: Roles;
  known: ReturnType<DecisionLog["known"]>;
}) {
  const judge = createReleaseJudge({
    ...{ fleet: keys.account.publicKey, registry, clock },
    mayRelease: (names) => roles.scopesOf(names).includes("states release"),
  });
  const operatorJudge = createRecordJudge({ registry, clock });
  for (const { bucket, value } of known) {
    if (bucket === "releases") judge.remember(value);
    if (bucket === "operators") operatorJudge.remember(value);
  }
  return { judge, operatorJudge };
}
