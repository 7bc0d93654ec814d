import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError, toSvcError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Span } from "../../base/trace.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { checkCall } from "../../host/modules/mod.ts";
import { merkleTree, type TreePart } from "../../identity/merkle/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { Content } from "../../wire/content.ts";
import type { ReleasedContent } from "../../wire/released-content.ts";
import { timeoutOf } from "../../wire/timeout.ts";
import { idOfRequest } from "../requests/mod.ts";
import { chosenTarget, type Target } from "../targeting/mod.ts";
import {
  findOwnJob,
  type Job,
  type JobSource,
  type OwnRecords,
  type SignedRequestOf,
  withJobMac,
} from "./records/mod.ts";
import { type JobRequest, maxFollowed } from "./request.ts";
import type { SendCommand } from "./send.ts";

export interface DispatchDeps {
  jobs: Bucket;
  records: Pick<OwnRecords, "encode">;
  /**
   * Resolves a target to the encoded peel IDs of members.
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
  /** The ID of the request, if there is one, which is stored with the job and sent to the peels. */
  requestId?: string;
  /** What asked for the job; the work of its peels is part of the trace. */
  span?: Span;
  /** The request, if the operator signed it: it is kept with the job and goes to the peels. Its job has one id. */
  signed?: SignedRequestOf;
  /** The place of these peels among the signed ones, where others are meant too. */
  partOf?(targets: readonly string[]): TreePart;
  /** What the job comes from; an operator unless given. */
  source?: JobSource;
  /** The other operators who agreed to it. */
  approvedBy?: readonly string[];
  /** Whether roles allow to reveal settings, without the agreement of others; none do unless given. */
  mayReveal?(roles: readonly string[]): boolean;
  /** The curve key of the operator who sees what its returns hide. */
  sealTo?: string;
  /** The files that it was accepted for. */
  content?: Content;
  /** Those for its peels that run released files alone, where they differ. */
  released?: Content;
  /** Whether a peel runs released files alone; none does unless given. */
  insists?(peel: string): boolean;
  log: Log;
}

/** The identity of a job, for callers that may dispatch it again after a crash. */
export interface JobIdentity {
  jid: string;
  /** Milliseconds since the Unix epoch: the time of the first request, from which the deadline counts. */
  createdAt: number;
}

/**
 * Creates a job and sends each target its signed command. With an identity the call can be repeated: an
 * existing job with that ID stays unchanged, and nothing is sent, because the masters resend unacknowledged
 * commands themselves.
 *
 * @returns the job, and how many of its targets are not connected now
 * @throws SvcError `bad_request` for a malformed request, `not_found` when no peel matches, `forbidden` when
 * another job has the id, `conflict` when other peels match than those that `targets_digest` is about, `storage` when the job could not be stored: then nothing was sent
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
  // A repeated call: the peels that match now do not matter.
  const before =
    identity === undefined ? undefined : await existingJob(deps, { jid: identity.jid, operator });
  if (before !== undefined) return before;
  const targets = await deps.resolve(chosenTarget(request));
  if (targets.length === 0) {
    throw new SvcError("not_found", "no peel matches the target");
  }
  if (request.follow === true && targets.length > maxFollowed) {
    throw new SvcError(
      "bad_request",
      `follow: ${targets.length} peels match, and the output of at most ${maxFollowed} can be followed`,
    );
  }
  assertFrozen(request.targets_digest, targets);
  const createdAt = identity?.createdAt ?? deps.clock.now();
  const span = deps.span?.begin(`dispatch ${request.function}`, {
    kind: "producer",
    attributes: { "svc.function": request.function, "svc.targets": targets.length },
  });
  const job = withJobMac(deps.mac, {
    jid: identity?.jid ?? newJobId(deps, createdAt),
    function: request.function,
    args,
    ...defined({ target: request.target, content: deps.content, released: releasedFor(deps, targets) }),
    targets,
    metadata: request.metadata ?? {},
    timeoutMs,
    createdAt,
    createdBy: operator,
    source: deps.source ?? "operator",
    ...(request.follow === true ? { follow: true as const } : {}),
    ...defined({ requestId: deps.requestId, request: signedFor(deps, targets), approvedBy: deps.approvedBy }),
    ...defined({ traceparent: span?.traceparent, sealTo: deps.sealTo }),
    deadline: createdAt + timeoutMs,
  });
  span?.set({ "svc.jid": job.jid });
  const created = await deps.jobs.create(job.jid, deps.records.encode(job)).catch((thrown) => {
    span?.end(toSvcError(thrown).kind);
    throw thrown;
  });
  if (created === undefined) {
    span?.end("conflict");
    const winner = await existingJob(deps, { jid: job.jid, operator });
    if (winner === undefined)
      throw new SvcError("conflict", `the job ${job.jid} existed, but is missing now`);
    return winner;
  }
  deps.own(job.jid);
  deps.send("dispatch", job, targets);
  span?.end();
  deps.metrics.jobDispatched((deps.clock.monotonic() - started) / 1000);
  deps.log.info("job dispatched", {
    jid: job.jid,
    function: job.function,
    targets: targets.length,
    operator,
  });
  return { job, away: countAway(deps, job) };
}

function newJobId({ signed, mac, random }: DispatchDeps, createdAt: number): string {
  return signed === undefined ? newId("job", createdAt, random) : idOfRequest("job", signed, mac);
}

function releasedFor(
  { released, insists = () => false }: DispatchDeps,
  targets: readonly string[],
): ReleasedContent | undefined {
  const peels = released === undefined ? [] : targets.filter(insists).sort();
  if (released === undefined || peels.length === 0) return undefined;
  return { commit: released.commit, snapshot: released.snapshot, peels };
}

function signedFor({ signed, partOf }: DispatchDeps, targets: string[]): SignedRequestOf | undefined {
  if (signed === undefined) return undefined;
  // A copy, as when it is read: it is a part of all that the bus sent at that moment.
  const kept = { ...signed, envelope: new Uint8Array(signed.envelope) };
  return partOf === undefined ? kept : { ...kept, part: partOf(targets) };
}

/**
 * Whether the peels are those that an operator signed.
 *
 * @param digest `targets_digest` of the request
 * @throws SvcError `conflict` when others match
 */
export function assertFrozen(digest: Uint8Array | undefined, targets: readonly string[]): void {
  if (digest === undefined || Buffer.from(merkleTree(targets).root).equals(digest)) return;
  throw new SvcError(
    "conflict",
    `other peels match the target now (${targets.length}) than those that were signed: nothing was started; ask again`,
  );
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
    `the id ${wanted.jid} belongs to a job that was not made for ${wanted.operator}, so nothing was started: svc job show ${wanted.jid} shows whose it is`,
  );
}

function countAway({ alive }: DispatchDeps, { targets }: Job): number {
  return targets.filter((peel) => !alive(peel)).length;
}
