import { describeError } from "../../base/errors.ts";
import type { Command } from "../../wire/command.ts";
import type { JobReturn } from "../../wire/return.ts";
import type { Consent, Refusal } from "../consent/mod.ts";
import { type Acceptance, busyReturn, failedReturn } from "../execution/mod.ts";
import { logOf } from "./returns.ts";
import type { Work } from "./work.ts";

/** Why a signed request does not count. */
const spent: Record<Exclude<Acceptance, "new">, string> = {
  seen: "the signed request was used on this peel before, and counts once",
  over: "the signed request is older than one that this peel has forgotten",
  full: "this peel remembers as many jobs and requests as it can",
  damaged: "the record of jobs was damaged, so the signed request may have been used before",
};

/**
 * Records a mutating job before it runs.
 *
 * @returns whether it may run; otherwise it has its return, if it gets one
 */
export function admit(work: Work, command: Command, consent: Consent | undefined): boolean {
  const { jid, deadline } = command;
  const { returns, clock } = work;
  const { dedup, executor } = work.local;
  if (executor.full) {
    dedup.close(jid, deadline, "done");
    returns.report(command, busyReturn(clock.now()), true);
    return false;
  }
  const refused = accept(work, command);
  if (refused === "silently") return false;
  if (refused !== undefined) {
    returns.answered.set(jid, true);
    returns.report(command, refused, false);
    return false;
  }
  // The job first: if this process ends here, the job is lost and the request is not used.
  const used = spend(work, command, consent);
  if (used === undefined) return true;
  dedup.close(jid, deadline, "done");
  refuse(work, command, { refused: used });
  return false;
}

/** @returns the return of a job that must not run */
function accept(work: Work, command: Command): JobReturn | "silently" | undefined {
  const { jid, deadline } = command;
  const { clock, local, log } = work;
  const now = clock.now();
  try {
    switch (local.dedup.accept(jid, deadline)) {
      case "new":
        return undefined;
      case "seen":
        return "silently";
      case "over":
        local.counts.refused.expired++;
        logOf(log, command).warn("command refused", {
          reason: "its deadline is before the deadline of a job that is already removed",
        });
        return "silently";
      case "full":
        return busyReturn(now);
      case "damaged":
        return failedReturn(
          "the peel's record of jobs was damaged: this job may have run before",
          now,
          0,
          "lost",
        );
    }
  } catch (thrown) {
    logOf(log, command).error("job refused: it cannot be recorded", { error: describeError(thrown) });
    return failedReturn(`not run, because the peel cannot record it: ${describeError(thrown)}`, now, 0);
  }
}

/** Uses up the signed request of a command. @returns why that is not possible */
export function spend(
  { local, log }: Work,
  command: Command,
  consent: Consent | undefined,
): string | undefined {
  if (consent?.by !== "operator") return undefined;
  try {
    const used = local.dedup.spend(consent, consent.until);
    logOf(log, command).debug("signed request used", { operator: consent.operator, result: used });
    return used === "new" ? undefined : spent[used];
  } catch (thrown) {
    return `it cannot be recorded that the request was used: ${describeError(thrown)}`;
  }
}

/** Reports to the operator why this peel does not obey. */
export function refuse({ returns, local, clock, log }: Work, command: Command, refusal: Refusal): void {
  local.counts.refused.unsigned++;
  logOf(log, command).warn("command refused", { reason: refusal.refused });
  returns.answered.set(command.jid, true);
  const { refused, isWhole } = refusal;
  const message = isWhole
    ? refused
    : `not run, because this peel obeys operators only (require_operator): ${refused}`;
  returns.report(command, failedReturn(message, clock.now(), 0), false);
}
