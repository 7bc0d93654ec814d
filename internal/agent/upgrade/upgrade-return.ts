import { type Clock, rfc3339, type Timer } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { returnSubject } from "../../bus/subjects.ts";
import type { JobReturn } from "../../fleet/jobs/record.ts";
import type { PeelCounts } from "../execution/counts.ts";
import type { Dedup } from "../execution/dedup.ts";
import { failedReturn } from "../execution/return.ts";
import type { Outbox } from "../link/outbox.ts";
import type { UpgradeFiles, UpgradeOutcome } from "./files.ts";

const pollMs = 1_000;

export interface UpgradeReturnOptions {
  files: UpgradeFiles;
  /** Whether a watchdog stands above this peel: without one, nothing is under way. */
  isWatched: boolean;
  dedup: Dedup;
  outbox: Outbox;
  counts: PeelCounts;
  /** Encoded peel id. */
  peelId: string;
  clock: Clock;
  log: Log;
}

/** Returns of jobs that outlive the peel that took them: those of upgrades. */
export interface UpgradeReturns {
  /**
   * Takes over an accepted job when it is an upgrade that is under way or decided: its return is sent when
   * that is known.
   *
   * @returns whether it is one
   */
  take(jid: string): boolean;
  stop(): void;
}

export function createUpgradeReturns(options: UpgradeReturnOptions): UpgradeReturns {
  const { files, dedup, outbox, counts, peelId, clock, log } = options;
  const waiting = new Set<string>();
  let timer: Timer | undefined;

  /** What is known of the upgrade of a job; the watchdog notes what becomes of a request before it removes it. */
  const fateOf = (jid: string): UpgradeOutcome | "under way" | undefined => {
    const isRequested = files.request()?.jid === jid;
    const { trial, outcome } = files.state();
    if (outcome?.jid === jid) return outcome;
    return options.isWatched && (isRequested || trial?.jid === jid) ? "under way" : undefined;
  };
  const send = (jid: string, fate: UpgradeOutcome | undefined) => {
    const entry = dedup.unfinished().find((item) => item.jid === jid)?.entry;
    if (entry === undefined) return;
    const result =
      fate === undefined
        ? failedReturn("what became of the upgrade is not known", entry.at, 0, "lost")
        : returnOf(fate, entry.at);
    counts.jobs[result.outcome ?? (result.success ? "ok" : "failed")]++;
    log.info("job done", { jid, success: result.success });
    const kept = outbox.put({ subject: returnSubject(jid, peelId), payload: encode(result), durable: true });
    const close = () => dedup.close(jid, entry.deadline, "done");
    if (kept.onDisk) close();
    else void kept.stored.then(close);
  };
  const look = () => {
    for (const jid of waiting) {
      const fate = fateOf(jid);
      if (fate === "under way") continue;
      waiting.delete(jid);
      send(jid, fate);
    }
    if (waiting.size > 0) return;
    timer?.cancel();
    timer = undefined;
  };

  // Nobody would take it up any more, or too late.
  if (!options.isWatched) files.removeRequest();
  return {
    take(jid) {
      const fate = fateOf(jid);
      if (fate === undefined) return false;
      if (fate !== "under way") send(jid, fate);
      else {
        waiting.add(jid);
        timer ??= clock.every(pollMs, look);
      }
      return true;
    },
    stop: () => timer?.cancel(),
  };
}

/** What a job tells of its upgrade. */
export function outcomeValue({ version, from, rolledBack, reason }: UpgradeOutcome): Plain {
  const told = { version, previous: from, changed: reason === "", rolled_back: rolledBack };
  return reason === "" ? told : { ...told, reason };
}

function returnOf(outcome: UpgradeOutcome, startedAt: number): JobReturn {
  const { success, rolledBack, reason, at } = outcome;
  return {
    success,
    retcode: success ? 0 : 1,
    return: outcomeValue(outcome),
    ...(success ? {} : { error: `${rolledBack ? "rolled back: " : ""}${reason}` }),
    started_at: rfc3339(startedAt),
    duration_ms: Math.max(0, at - startedAt),
  };
}
