import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import { parseJobSubject, returnSubject } from "../../bus/subjects/subjects.ts";
import type { CallContext } from "../../host/modules/mod.ts";
import { encodeReturn } from "../../wire/return.ts";
import {
  createCounts,
  createExecutor,
  type Dedup,
  type Executor,
  failedReturn,
  isReadOnly,
  openDedup,
  type PeelCounts,
} from "../execution/mod.ts";
import { createOutbox, type Outbox } from "../link/mod.ts";
import type { Mask } from "../masking/mod.ts";
import { createUpgradeReturns, type Upgrades, upgradeFiles } from "../upgrade/mod.ts";
import { findFullDisk } from "./disk-full.ts";
import { executeMasked } from "./execute-masked.ts";

/** Specification, "Limits". */
const rememberedJobs = 4096;

/** The parts of a peel that work without a bus. */
export interface Local {
  readonly executor: Executor;
  readonly dedup: Dedup;
  readonly outbox: Outbox;
  readonly counts: PeelCounts;
  /** What to report where the data directory has no room for what a job writes. */
  fullDisk(): ReturnType<typeof findFullDisk>;
  /** Upgrades this peel to another executable. Absent where that is not possible. */
  readonly upgrades?: Upgrades;
  /** Takes over the return of an accepted job that outlives this process. @returns whether it does */
  defer(jid: string): boolean;
  /** Stops all running calls. Each job that did not end by itself gets a return that reports it. */
  stop(): Promise<void>;
}

export interface LocalOptions {
  /** Encoded peel id. */
  peelId: string;
  dataDir: string;
  /** The environment of a function. */
  context(signal: AbortSignal): CallContext;
  /** What takes secrets out of what leaves this host, for those that are in force now. */
  mask(): Mask;
  /** Gets each call that runs, and hands it on. */
  during?<Result>(call: Promise<Result>): Promise<Result>;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  upgrades?: Upgrades;
  /** Whether this peel runs under a watchdog. */
  isWatched?: boolean;
  /** As `openOutbox` gives them. */
  outbox: Outbox;
  counts: PeelCounts;
}

/** Opens what waits on disk for a bus, and what is counted of it. Stopping the local phase stops it. */
export function openOutbox(
  options: Pick<LocalOptions, "dataDir" | "clock" | "jitter" | "log">,
): Pick<LocalOptions, "outbox" | "counts"> {
  const { dataDir, clock } = options;
  const counts = createCounts();
  const outbox = createOutbox({
    ...options,
    dir: join(dataDir, "outbox"),
    shorten({ subject }, reason) {
      if (parseJobSubject(subject)?.kind !== "return") return undefined;
      return encodeReturn(
        failedReturn(`the job ended, but its return was refused: ${reason}`, clock.now(), 0),
      );
    },
    counts,
  });
  return { outbox, counts };
}

/** Starts the local phase: calls can run, and what they return waits for a bus. */
export function startLocal(options: LocalOptions): Local {
  const { peelId, dataDir, outbox, counts, mask, during = (call) => call, clock, log } = options;
  const dedup = openDedup({
    path: join(dataDir, "peel-dedup.msgpack"),
    capacity: rememberedJobs,
    clock,
    log,
  });
  const upgradeReturns = createUpgradeReturns({
    ...options,
    files: upgradeFiles(dataDir),
    isWatched: options.isWatched === true,
    dedup,
  });
  reportLost();
  const executor = createExecutor({
    isReadOnly,
    execute: (call, signal, { origin, progress, output, hidden, upgrade }) => {
      const more = defined({ upgrade, content: call.content });
      const context = { ...options.context(signal), origin, ...more };
      return during(executeMasked(call, { ...context, ...defined({ progress, output, hidden }) }, mask));
    },
    clock,
    log,
  });
  return {
    fullDisk: () => findFullDisk(dataDir),
    executor,
    dedup,
    outbox,
    counts,
    ...defined({ upgrades: options.upgrades }),
    defer: upgradeReturns.take,
    async stop() {
      await executor.stop();
      upgradeReturns.stop();
      outbox.stop();
      dedup.stop();
    },
  };

  /** Reports accepted jobs without a known end as lost. They never run again. */
  function reportLost() {
    for (const { jid, entry } of dedup.unfinished()) {
      const subject = returnSubject(jid, peelId);
      const close = () => dedup.close(jid, entry.deadline, "done");
      if (outbox.has(subject)) {
        close();
        continue;
      }
      if (upgradeReturns.take(jid)) continue;
      counts.jobs.lost++;
      log.warn("job lost: the peel restarted while it ran or waited", { jid });
      const result = failedReturn("the peel restarted while the job ran or waited", entry.at, 0, "lost");
      const kept = outbox.put({ subject, payload: encodeReturn(result), durable: true });
      if (kept.onDisk) close();
      else void kept.stored.then(close);
    }
  }
}
