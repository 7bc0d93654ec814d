import { createBoundedMap } from "../../base/bounded-map.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { sayDuration } from "../../base/duration.ts";
import { describeError } from "../../base/errors.ts";
import { dispatchSubject, parseJobSubject, stopSubject } from "../../bus/subjects/subjects.ts";
import { type Command, type CommandKind, CommandRefused, openCommand } from "../../wire/command.ts";
import { openSiteCommand } from "../../wire/site-command.ts";
import { failedReturn } from "../execution/mod.ts";
import { dispatch, isKnown } from "./dispatch.ts";
import { createReturns, logOf, rememberedJobs } from "./returns.ts";
import type { Work, WorkerOptions } from "./work.ts";

export interface Worker {
  /** Handles a signed command from the response to a hello. */
  take(command: Uint8Array): void;
  /** Handles a signed command for peels of its site, which this peel may not be one of. */
  takeForSite(jid: string, command: Uint8Array): void;
  stop(): void;
}

/** The subject on which a command arrived. */
interface On {
  kind: CommandKind;
  jid: string;
}

/**
 * Handles signed commands. Each job runs at most once, and always gets a return.
 *
 * A mutating job is recorded on disk and then acknowledged. It runs when the bus has stored the
 * acknowledgement, so a job that ran never counts as undelivered. Its return is on disk before the job counts
 * as done. A read-only job runs directly, and its return is its acknowledgement.
 */
export function startWorker(options: WorkerOptions): Worker {
  const { connection, peelId, log } = options;
  const returns = createReturns(options);
  const work: Work = { ...options, returns, automatic: createBoundedMap<true>(rememberedJobs) };

  const handle = (bytes: Uint8Array, on?: On, isForSite = false) => {
    const take = async () => {
      const command = open(work, bytes, on, isForSite);
      if (command !== undefined) await (command.kind === "stop" ? stop : dispatch)(work, command);
    };
    take().catch((thrown) => log.error("command lost", { ...on, error: describeError(thrown) }));
  };
  const listen = (kind: CommandKind, subject: string) =>
    connection.subscribe(subject, (arrivedOn, bytes) => {
      const jid = parseJobSubject(arrivedOn)?.jid;
      if (jid !== undefined) handle(bytes, { kind, jid });
    });
  listen("dispatch", dispatchSubject("*", peelId));
  listen("stop", stopSubject("*", peelId));
  return {
    take: (command) => handle(command),
    takeForSite: (jid, command) => handle(command, { kind: "dispatch", jid }, true),
    stop: returns.stop,
  };
}

/** @returns nothing for a command that is refused, which is logged, and reported where a master signed it for this peel */
function open(work: Work, bytes: Uint8Array, on: On | undefined, isForSite: boolean): Command | undefined {
  const { peelId, local, clock, log } = work;
  const trust = { keys: work.commandKeys.current, now: clock.now() };
  try {
    if (isForSite) return openSiteCommand(bytes, { peel: peelId, jid: on?.jid ?? "" }, trust);
    return openCommand(bytes, { peel: peelId, ...defined({ on }) }, trust);
  } catch (thrown) {
    if (!(thrown instanceof CommandRefused)) throw thrown;
    local.counts.refused[thrown.reason]++;
    // Nothing in a command with an invalid signature is trusted, including its request id.
    const refused = thrown.command === undefined ? log : logOf(log, thrown.command);
    refused.warn("command refused", { jid: on?.jid, reason: thrown.message });
    if (thrown.reason === "expired" && thrown.command !== undefined) reportLate(work, thrown.command);
    return undefined;
  }
}

/**
 * Returns a job that a master signed for this peel, and whose deadline has passed on the clock of this host. Without a
 * return, nobody would see that the clock is wrong. It is an assumption like each timeout, and so never replaces
 * how the job ended.
 */
function reportLate(work: Work, command: Command): void {
  const { kind, jid, deadline } = command;
  const { returns, clock, local } = work;
  // It may have run, with a record that was removed since.
  if (kind !== "dispatch" || isKnown(work, command) || local.dedup.hasForgotten(deadline)) return;
  returns.answered.set(jid, true);
  const now = clock.now();
  const ago = sayDuration(Math.max(1, Math.round((now - deadline) / 1_000)) * 1_000);
  const late = `the deadline passed ${ago} ago by the clock of this host (${rfc3339(now)})`;
  const next = "next: if that clock is wrong, timedatectl set-ntp true on this host";
  returns.reportLate(command, failedReturn(`never began: ${late}; ${next}`, now, 0, "timeout"));
}

/** Ends a job, or keeps it from beginning. */
function stop(work: Work, command: Command): void {
  const { jid, deadline } = command;
  const { returns, automatic, clock, log } = work;
  const { executor, dedup, counts } = work.local;
  const consent = work.insistence?.stop(command, automatic.get(jid) === true);
  if (consent !== undefined && "refused" in consent) {
    counts.refused.unsigned++;
    logOf(log, command).warn("command refused", { reason: consent.refused });
    return;
  }
  const known = executor.cancel(jid);
  if (known === "cancelled") logOf(log, command).info("job cancelled while it ran or waited");
  if (known !== "unknown" || isKnown(work, command)) return;
  // It may still be on its way.
  dedup.close(jid, deadline, "cancelled");
  returns.answered.set(jid, true);
  returns.report(command, failedReturn("cancelled before it began", clock.now(), 0, "cancelled"), true);
}
