import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { readEvents } from "./read-events.ts";
import { decodeJob, isGenuineJob, type Job, type SignedRequestOf, withCancelMac } from "./records/mod.ts";
import type { SendCommand } from "./send.ts";
import type { SettleDeps } from "./settle.ts";
import { createTally, standingOf, type Tally } from "./tally.ts";

export interface CancelDeps extends SettleDeps {
  send: SendCommand;
  mac: RecordMac;
  /** The request that is served: it is kept with the job and goes to the peels. */
  requestId?: string;
  /** The request, if the operator signed it: it goes to the peels as well. */
  signed?: SignedRequestOf;
  log: Log;
}

/**
 * Cancels a job: no further target gets it, and each target that has not ended gets a command to stop. While a
 * cancelled job still runs somewhere, the commands are sent again.
 *
 * @throws SvcError `not_found`, also for a malformed id; `conflict` when the job has ended
 */
export function stopJob(deps: CancelDeps, jid: string, operator: string): Promise<Job> {
  const attempt = async () => {
    const entry = isId("job", jid) ? await deps.jobs.get(jid) : undefined;
    if (entry === undefined) throw new SvcError("not_found", "the job does not exist");
    const job = decodeJob(entry.value);
    const now = deps.clock.now();
    const tally = createTally(job);
    await readEvents(deps.bus, job, (event) => tally.note(event));
    const { status } = standingOf(job, tally, deps.alive, now);
    if (status !== "running" || job.schedule !== undefined) {
      throw new SvcError("conflict", `the job has ended (${status}): it cannot be cancelled`);
    }
    // A cancellation that no master made moves nobody to stop, and keeps nobody from cancelling.
    if (job.cancelledAt === undefined || !isGenuineJob(deps.mac, "stop", job)) {
      const requested = defined({ cancelRequestId: deps.requestId, cancelRequest: deps.signed });
      const by = { cancelledAt: now, cancelledBy: operator };
      const cancelled = withCancelMac(deps.mac, { ...job, ...by, ...requested });
      if ((await deps.jobs.update(jid, deps.records.encode(cancelled), entry.revision)) === undefined)
        return conflict;
      deps.log.info("job cancelled", { jid, operator });
      reportOpen(deps.send, cancelled, tally);
      return cancelled;
    }
    reportOpen(deps.send, job, tally);
    return job;
  };
  return retryOnConflict(attempt, {
    exhausted: "the job changed too often during the cancellation: try again",
  });
}

function reportOpen(send: SendCommand, job: Job, tally: Tally): void {
  send(
    "stop",
    job,
    job.targets.filter((peel) => tally.known(peel).ending === undefined),
  );
}
