import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { formatDuration, parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/mod.ts";
import { checkCall } from "../../host/modules/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { chosenTarget, type Target } from "../targeting/mod.ts";
import { findOwnJob } from "./own-job.ts";
import { encodeJob, type Job } from "./record.ts";
import { withJobMac } from "./record-mac.ts";
import type { JobRequest } from "./request.ts";
import type { SendCommand } from "./send.ts";

const defaultTimeoutMs = 60_000;
const maxTimeoutMs = 24 * 60 * 60 * 1000;

export interface DispatchDeps {
  jobs: Bucket;
  /**
   * Finds who is meant, as encoded peel ids of members.
   *
   * @throws SvcError `bad_request` for a malformed target
   */
  resolve(target: Target): Promise<string[]>;
  alive(peel: string): boolean;
  send: SendCommand;
  mac: RecordMac;
  /** Says that this master looks after the end of the job first. */
  own(jid: string): void;
  metrics: { jobDispatched(seconds: number): void };
  clock: Clock;
  random: Random;
  /** The request that is served, when there is one: it is kept with the job and goes to the peels. */
  requestId?: string;
  log: Log;
}

/** Who a job is, for those who must be able to ask for it again after a crash. */
export interface JobIdentity {
  jid: string;
  /** Milliseconds since the Unix epoch: when it was asked for first, from which its deadline counts. */
  createdAt: number;
}

/**
 * Creates a job and sends each target its signed command.
 *
 * With an identity it can be asked for again: a job of that id that exists stays what it is, and nobody is
 * sent anything, as the masters send again by themselves what was not taken.
 *
 * @returns the job, and how many of its targets are not connected now
 * @throws SvcError `bad_request` for a malformed request, `not_found` when no peel matches, `storage`
 *   when the job could not be stored: then nobody was sent anything; `forbidden` when another job has the id
 */
export async function dispatchJob(
  deps: DispatchDeps,
  request: JobRequest,
  operator: string,
  identity?: JobIdentity,
): Promise<{ job: Job; away: number }> {
  const started = deps.clock.monotonic();
  const args = request.args ?? {};
  checkCall(request.function, args);
  const timeoutMs = timeoutOf(request.timeout);
  // Asked for again: who matches by now does not count.
  const before =
    identity === undefined ? undefined : await existingJob(deps, { jid: identity.jid, operator });
  if (before !== undefined) return before;
  const targets = await deps.resolve(chosenTarget(request));
  if (targets.length === 0) {
    throw new SvcError("not_found", "no peel matches the target");
  }
  const createdAt = identity?.createdAt ?? deps.clock.now();
  const job = withJobMac(deps.mac, {
    jid: identity?.jid ?? newId("job", createdAt, deps.random),
    function: request.function,
    args,
    ...defined({ target: request.target }),
    targets,
    metadata: request.metadata ?? {},
    timeoutMs,
    createdAt,
    createdBy: operator,
    ...defined({ requestId: deps.requestId }),
    deadline: createdAt + timeoutMs,
  });
  if ((await deps.jobs.create(job.jid, encodeJob(job))) === undefined) {
    const winner = await existingJob(deps, { jid: job.jid, operator });
    if (winner === undefined) throw new SvcError("conflict", `the job ${job.jid} was there and is gone`);
    return winner;
  }
  deps.own(job.jid);
  deps.send("dispatch", job, targets);
  deps.metrics.jobDispatched((deps.clock.monotonic() - started) / 1000);
  deps.log.info("job dispatched", {
    jid: job.jid,
    function: job.function,
    targets: targets.length,
    operator,
  });
  return { job, away: countAway(deps, job) };
}

async function existingJob(
  deps: DispatchDeps,
  wanted: { jid: string; operator: string },
): Promise<{ job: Job; away: number } | undefined> {
  const job = await findOwnJob(deps, wanted);
  if (job === undefined) return undefined;
  if (job !== "taken") return { job, away: countAway(deps, job) };
  throw new SvcError(
    "forbidden",
    `the id ${wanted.jid} belongs to a job that was not made for ${wanted.operator}, so nothing was started: svc job show ${wanted.jid} tells whose it is`,
  );
}

function countAway({ alive }: DispatchDeps, { targets }: Job): number {
  return targets.filter((peel) => !alive(peel)).length;
}

function timeoutOf(text: string | undefined): number {
  if (text === undefined) return defaultTimeoutMs;
  let timeoutMs: number;
  try {
    timeoutMs = parseDuration(text);
  } catch (cause) {
    throw new SvcError("bad_request", `timeout: ${cause instanceof Error ? cause.message : "bad duration"}`);
  }
  if (timeoutMs < 1 || timeoutMs > maxTimeoutMs) {
    throw new SvcError("bad_request", `timeout must be 1ms to ${formatDuration(maxTimeoutMs)}`);
  }
  return timeoutMs;
}
