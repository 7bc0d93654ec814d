import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { storedSubjects } from "../../bus/streams/mod.ts";
import { returnSubject } from "../../bus/subjects/subjects.ts";
import type { RunningJob } from "./running-jobs.ts";

/** Milliseconds between two looks: the bus passes a message on before its stream has stored it. */
const pausesMs = [0, 20, 100, 500];
/** How long a return of a job that continues may stay unconfirmed; peels keep theirs for longer. */
const soonMs = 3_000;

export interface ConfirmDeps {
  bus: Bus;
  /** Whether the bus can be asked what it stored; elsewhere peels have each return confirmed. */
  reportsStored(): boolean;
  /** Sends the command again to these targets, until they have returned. */
  again(entry: RunningJob, peels: readonly string[]): void;
  clock: Clock;
  log: Log;
}

/**
 * Finds out whether returns that have passed are stored: peels do not wait for it (`resends` in call.ts). A consumer of
 * the stream would tell as well, but the bus paces what it delivers to one: the flood of a peel would not be seen in time.
 */
export interface Confirmer {
  /**
   * Looks at the returns of a job. Those that are not stored are ignored, and the command is sent again.
   *
   * @returns whether all that count are stored
   * @throws SvcError `storage`
   */
  confirm(entry: RunningJob): Promise<boolean>;
  /** A return has passed: looks soon, because other targets of its job may never return. */
  soon(entry: RunningJob): void;
}

export function createConfirmer({ bus, reportsStored, again, clock, log }: ConfirmDeps): Confirmer {
  const confirm = async (entry: RunningJob) => {
    const { tally, passed } = entry;
    if (passed.size === 0 || !reportsStored()) return true;
    const checked = [...passed];
    const missing = await unstoredReturns(bus, clock, entry.job.jid, checked);
    for (const peel of checked) passed.delete(peel);
    const { jid, cancelledAt, deadline } = entry.job;
    // A peel is not asked again then. What is stored decides.
    if (cancelledAt !== undefined || clock.now() >= deadline) return missing.length === 0;
    const lost = missing.filter((peel) => tally.reopen(peel));
    if (lost.length === 0) return true;
    log.warn("returns that the bus has not stored are asked for again", { jid, peels: lost.length });
    again(entry, lost);
    return false;
  };
  return {
    confirm,
    soon(entry) {
      entry.confirming ??= clock.after(soonMs, () => {
        entry.confirming = undefined;
        // When all have returned, the end of the job looks.
        if (entry.tally.open === 0) return;
        confirm(entry).catch((thrown) => {
          log.debug("the stored returns of a job cannot be read", { reason: describeError(thrown) });
          this.soon(entry);
        });
      });
    },
  };
}

/**
 * Finds the returns of a job that the bus has not stored.
 *
 * @param peels whose return has passed, encoded
 * @throws SvcError `storage`
 */
async function unstoredReturns(
  bus: Pick<Bus, "nats">,
  clock: Clock,
  jid: string,
  peels: readonly string[],
): Promise<string[]> {
  let missing = [...peels];
  for (const pauseMs of pausesMs) {
    if (pauseMs > 0) await sleep(clock, pauseMs);
    const stored = await storedSubjects(bus, "job-events", returnSubject(jid, "*"));
    missing = missing.filter((peel) => !stored.has(returnSubject(jid, peel)));
    if (missing.length === 0) break;
  }
  return missing;
}
