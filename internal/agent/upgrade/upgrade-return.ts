import { type Clock, rfc3339, type Timer } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { returnSubject } from "../../bus/subjects/subjects.ts";
import { encodeReturn, type JobReturn } from "../../wire/return.ts";
import { type Dedup, failedReturn, type PeelCounts } from "../execution/mod.ts";
import type { Outbox } from "../link/mod.ts";
import type { UpgradeFiles, UpgradeOutcome } from "./files.ts";

const pollMs = 1_000;

export interface UpgradeReturnOptions {
  files: UpgradeFiles;
  /** Whether this peel runs under a watchdog. Without one, no upgrade is in progress. */
  isWatched: boolean;
  dedup: Dedup;
  outbox: Outbox;
  counts: PeelCounts;
  /** Encoded peel id. */
  peelId: string;
  clock: Clock;
  log: Log;
}

/** Returns of upgrade jobs, which outlive the peel process that accepted them. */
export interface UpgradeReturns {
  /**
   * Takes over an accepted job if it is an upgrade that is in progress or finished. Its return is sent when
   * the result is known.
   *
   * @returns whether the job is such an upgrade
   */
  take(jid: string): boolean;
  stop(): void;
}

export function createUpgradeReturns(options: UpgradeReturnOptions): UpgradeReturns {
  const { files, dedup, outbox, counts, peelId, clock, log } = options;
  const waiting = new Set<string>();
  let timer: Timer | undefined;

  /** The state of the upgrade of a job. The watchdog records the result of a request before it removes it. */
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
        ? failedReturn("the result of the upgrade is not known", entry.at, 0, "lost")
        : returnOf(fate, entry.at);
    counts.jobs[result.outcome ?? (result.success ? "ok" : "failed")]++;
    log.info("job done", { jid, success: result.success });
    const kept = outbox.put({
      subject: returnSubject(jid, peelId),
      payload: encodeReturn(result),
      durable: true,
    });
    const close = () => dedup.close(jid, entry.deadline, "done");
    if (kept.onDisk) close();
    else void kept.stored.then(close);
  };
  const check = () => {
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

  // No watchdog would claim it, or it would be too late.
  if (!options.isWatched) files.removeRequest();
  return {
    take(jid) {
      const fate = fateOf(jid);
      if (fate === undefined) return false;
      if (fate !== "under way") send(jid, fate);
      else {
        waiting.add(jid);
        timer ??= clock.every(pollMs, check);
      }
      return true;
    },
    stop: () => timer?.cancel(),
  };
}

/** The return value of an upgrade job. */
export function outcomeValue({ version, from, rolledBack, reason }: UpgradeOutcome): Plain {
  const reported = { version, previous: from, changed: reason === "", rolled_back: rolledBack };
  return reason === "" ? reported : { ...reported, reason };
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
