import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import { encode } from "../../base/msgpack.ts";
import { parseJobSubject, returnSubject } from "../../bus/subjects.ts";
import { execute, isReadOnly } from "../../fleet/jobs/execute.ts";
import type { CallContext } from "../../host/modules/function.ts";
import { createCounts, type PeelCounts } from "../execution/counts.ts";
import { type Dedup, openDedup } from "../execution/dedup.ts";
import { createExecutor, type Executor } from "../execution/executor.ts";
import { failedReturn } from "../execution/return.ts";
import { createOutbox, type Outbox } from "../link/outbox.ts";
import { upgradeFiles } from "../upgrade/files.ts";
import type { Upgrades } from "../upgrade/upgrade.ts";
import { createUpgradeReturns } from "../upgrade/upgrade-return.ts";

/** Specification, "Limits". */
const rememberedJobs = 4096;

/** What a peel has before it knows of any bus, and keeps whatever becomes of the bus. */
export interface Local {
  readonly executor: Executor;
  readonly dedup: Dedup;
  readonly outbox: Outbox;
  readonly counts: PeelCounts;
  /** Changes this peel over to another executable; absent where nobody could. */
  readonly upgrades?: Upgrades;
  /** Takes over the return of an accepted job that outlives this peel. @returns whether it is one */
  defer(jid: string): boolean;
  /** Ends what runs; each job that did not end by itself has a return that says so. */
  stop(): Promise<void>;
}

export interface LocalOptions {
  /** Encoded peel id. */
  peelId: string;
  dataDir: string;
  /** What a function finds around it. */
  context(signal: AbortSignal): CallContext;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  upgrades?: Upgrades;
  /** Whether a watchdog stands above this peel. */
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
      return encode(failedReturn(`the job ended, but its return was refused: ${reason}`, clock.now(), 0));
    },
    counts,
  });
  return { outbox, counts };
}

/** Starts the local phase: calls can run, and what they return waits for a bus. */
export function startLocal(options: LocalOptions): Local {
  const { peelId, dataDir, outbox, counts, clock, log } = options;
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
    execute: (call, signal, { progress, upgrade }) =>
      execute(call, {
        ...options.context(signal),
        ...defined({ progress, upgrade }),
      }),
    clock,
    log,
  });
  return {
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

  /** A job that was accepted, and of which nothing more is known, is never run again. */
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
      const kept = outbox.put({ subject, payload: encode(result), durable: true });
      if (kept.onDisk) close();
      else void kept.stored.then(close);
    }
  }
}
