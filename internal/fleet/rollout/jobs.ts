import { formatDuration } from "../../base/duration.ts";
import { SvcError, toSvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import { type Tracer, untraced } from "../../base/trace.ts";
import { jobSubjects, type Recorder } from "../audit/mod.ts";
import {
  type CancelDeps,
  createTally,
  type DispatchDeps,
  dispatchJob,
  readEvents,
  standingOf,
  stopJob,
  untilSettled,
} from "../jobs/mod.ts";
import { decodeJob, type Job, type PlannedJob, placeTombstone } from "../jobs/records/mod.ts";
import type { Observation } from "./decide.ts";

/** The request that a job of a wave follows from. */
export type WaveRequest = Pick<
  DispatchDeps,
  "requestId" | "signed" | "partOf" | "approvedBy" | "content" | "released"
>;

/** The actions of a rollout on jobs. Any master may repeat each of them at any time. */
export interface RolloutJobs {
  /** Makes a job, if its id is still free. */
  make(job: PlannedJob, of?: WaveRequest): Promise<Observation>;
  /** Finds out whether a job was made; if not, nobody can make it from now on. */
  claim(job: PlannedJob, by: string): Promise<Observation>;
  /** Cancels a job that this rollout made, and no other. */
  cancel(jid: string, of: { rollout: string; by: string }): Promise<void>;
  /** Resolves when a job has ended. @throws the signal's reason */
  ended(jid: string, signal: AbortSignal): Promise<Observation>;
  /** The targets of a job that ended well, encoded ids. */
  wentWell(jid: string): Promise<string[]>;
}

export interface RolloutJobDeps {
  dispatch: DispatchDeps;
  cancel: CancelDeps;
  /** Records each job before it is made. */
  recorder?: Pick<Recorder, "begin">;
  /** Begins a trace for each job: a rollout may take days. */
  tracer?: Tracer;
}

export function createRolloutJobs(deps: RolloutJobDeps): RolloutJobs {
  const { dispatch, cancel } = deps;
  return {
    make: (planned, of = {}) => makeJob(deps, planned, of),
    async claim(planned, by) {
      return madeOf(await placeTombstone(dispatch, planned, { by, at: dispatch.clock.now() }));
    },
    async cancel(jid, { rollout, by }) {
      const entry = await cancel.jobs.get(jid);
      if (entry === undefined || decodeJob(entry.value).metadata.rollout !== rollout) return;
      try {
        await stopJob(cancel, jid, by);
      } catch (thrown) {
        // It has ended, as intended.
        if (!(thrown instanceof SvcError) || !["conflict", "not_found"].includes(thrown.kind)) throw thrown;
      }
    },
    async ended(jid, signal) {
      // The driver of the rollout settles the job first.
      dispatch.own(jid);
      const settled = await untilSettled(cancel, jid, signal);
      return settled === undefined
        ? { jid, observed: "lost" }
        : { jid, observed: "ended", counts: settled.counts };
    },
    async wentWell(jid) {
      const entry = await cancel.jobs.get(jid);
      if (entry === undefined) return [];
      const job = decodeJob(entry.value);
      const tally = createTally(job);
      await readEvents(cancel.bus, job, (event) => tally.note(event));
      const { outcomes } = standingOf(job, tally, () => false, cancel.clock.now());
      return job.targets.filter((peel) => outcomes.get(peel) === "ok");
    },
  };
}

async function makeJob(
  { dispatch, recorder, tracer = untraced }: RolloutJobDeps,
  planned: PlannedJob,
  of: WaveRequest,
): Promise<Observation> {
  const { jid, createdAt, createdBy, targets, timeoutMs, args, metadata } = planned;
  if (targets.length === 0) return { jid, observed: "nobody" };
  const timeout = formatDuration(timeoutMs);
  const request = { function: planned.function, args, metadata, targets, timeout };
  const { rollout, wave } = metadata;
  const span = tracer.begin("rollout wave", {
    attributes: {
      ...(typeof rollout === "string" ? { "svc.rollout": rollout } : {}),
      ...(typeof wave === "string" ? { "svc.wave": wave } : {}),
    },
  });
  const from = { ...dispatch, ...of, span, source: "rollout" as const };
  try {
    const { job } = await recorded(recorder, describeJob(planned, of.requestId), () =>
      dispatchJob(from, request, createdBy, { jid, createdAt }),
    );
    span.end();
    return madeOf(job);
  } catch (thrown) {
    span.end(toSvcError(thrown).kind);
    if (!(thrown instanceof SvcError)) throw thrown;
    const { kind, message } = thrown;
    if (kind === "not_found") return { jid, observed: "nobody" };
    if (kind === "bad_request" || kind === "forbidden") return { jid, observed: "refused", reason: message };
    throw thrown;
  }
}

const madeOf = ({ jid, forbidden, targets }: Job): Observation =>
  forbidden === true ? { jid, observed: "forbidden" } : { jid, observed: "made", peels: targets.length };

async function recorded<T>(
  recorder: RolloutJobDeps["recorder"],
  what: Parameters<Recorder["begin"]>[0],
  run: () => Promise<T>,
): Promise<T> {
  const end = await recorder?.begin(what);
  try {
    const result = await run();
    await end?.({ outcome: "done" });
    return result;
  } catch (thrown) {
    await end?.({ outcome: "failed", reason: toSvcError(thrown).message });
    throw thrown;
  }
}

function describeJob({ jid, createdBy, targets, args, metadata, ...planned }: PlannedJob, requestId = "") {
  const called = { function: planned.function, args };
  const { rollout } = metadata;
  return {
    operator: createdBy,
    key: "",
    via: "rollout" as const,
    action: "jobs.create",
    subjects: {
      ...(typeof rollout === "string" ? { rollout } : {}),
      job: jid,
      ...jobSubjects(called, targets),
    },
    requestId,
    requestDigest: sha256(encode({ ...called, targets })),
  };
}
