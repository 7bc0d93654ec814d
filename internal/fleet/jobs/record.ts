import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { traceparentOf } from "../../base/trace.ts";
import type { TreePart } from "../../identity/mod.ts";
import { type JobStatus, type Outcome, outcomes } from "./outcome.ts";
import type { OutcomePlaces } from "./outcome-places.ts";
import { type JobSource, jobSources } from "./source.ts";

/** A job as it was dispatched; its results are in the returns. */
export interface Job {
  jid: string;
  function: string;
  args: Record<string, Plain>;
  /** The target expression, if there was one. */
  target?: string;
  /** Encoded IDs of the target peels. */
  targets: string[];
  metadata: Record<string, Plain>;
  /** How long a peel may take, milliseconds. */
  timeoutMs: number;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
  createdBy: string;
  /** Its peels report what a command writes while it runs. Who changes it in the record gains nothing by that. */
  follow?: true;
  /** What made it. */
  source?: JobSource;
  /** The other operators who agreed to it. */
  approvedBy?: readonly string[];
  /** The ID of the request that dispatched it, as in the logs. */
  requestId?: string;
  /**
   * The span that its peels' work is part of. It is only shown, so no MAC covers it; what reads it takes nothing but the
   * form of a trace.
   */
  traceparent?: string;
  deadline: number;
  cancelledAt?: number;
  cancelledBy?: string;
  cancelRequestId?: string;
  /** It is a tombstone: it was never sent, and its ID is used so that the job can never be created. */
  forbidden?: true;
  /** The entry of the peel's schedule that ran it; such a job was not dispatched, and has ended. */
  schedule?: string;
  /** What an operator signed to create it, and to cancel it; peels may insist on seeing that. */
  request?: SignedRequestOf;
  cancelRequest?: SignedRequestOf;
  /** Prove that a master created it, and that a master cancelled it: see record-mac.ts. */
  voucher?: Uint8Array;
  cancelVoucher?: Uint8Array;
  /** Written by a master when every target has ended, so that lists need not read the returns. */
  settled?: Settled;
}

/** A signed request as it arrived, and what others signed about it. */
export interface SignedRequestOf {
  subject: string;
  envelope: Uint8Array;
  /** Those who agreed to it, with what they signed. */
  approvals?: readonly SignedApproval[];
  /** The job is the check of a wave, and not the wave. */
  step?: "check";
  /** The place of its targets among the signed ones; absent where all of these are its targets. */
  part?: TreePart;
}

/** An agreement as its operator signed it. */
export interface SignedApproval {
  operator: string;
  envelope: Uint8Array;
}

/** How a job ended. A return that comes later changes it. */
export interface Settled {
  status: Exclude<JobStatus, "running">;
  counts: Partial<Record<Outcome, number>>;
  finishedAt: number;
  /** Targets that never took the job and were not alive at the deadline. */
  offline: string[];
  /**
   * The places in `targets` of those that were not offline and have another outcome than the most frequent one; absent
   * when there are none.
   */
  places?: OutcomePlaces;
}

const plainMap = v.custom<Record<string, Plain>>((value) => typeof value === "object" && value !== null);

/** A copy: a slice would keep the whole message in memory. */
const ownBytes = v.pipe(
  v.instance(Uint8Array),
  v.transform((found) => new Uint8Array(found)),
);
/** More than any fleet has. */
const mostPeels = 10_000_000;
const place = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(mostPeels));

/** The stored form of what was signed. */
export const storedRequest = v.pipe(
  v.object({
    subject: v.string(),
    envelope: ownBytes,
    approvals: v.optional(v.array(v.object({ operator: v.string(), envelope: ownBytes }))),
    step: v.optional(v.literal("check")),
    part: v.optional(v.object({ size: place, places: v.array(place), beside: v.array(ownBytes) })),
  }),
  v.transform((found): SignedRequestOf => defined(found) as SignedRequestOf),
);

const storedJob = v.object({
  jid: v.string(),
  function: v.string(),
  args: plainMap,
  target: v.optional(v.string()),
  targets: v.array(v.string()),
  metadata: plainMap,
  timeout_ms: v.number(),
  created_at: instant,
  created_by: v.string(),
  source: v.fallback(v.optional(v.picklist(jobSources)), undefined),
  follow: v.optional(v.literal(true)),
  approved_by: v.optional(v.array(v.string())),
  request_id: v.optional(v.string()),
  traceparent: v.optional(v.pipe(v.unknown(), v.transform(traceparentOf))),
  deadline: instant,
  cancelled_at: v.optional(instant),
  cancelled_by: v.optional(v.string()),
  cancel_request_id: v.optional(v.string()),
  forbidden: v.optional(v.literal(true)),
  schedule: v.optional(v.string()),
  request: v.optional(storedRequest),
  cancel_request: v.optional(storedRequest),
  voucher: v.optional(v.instance(Uint8Array)),
  cancel_voucher: v.optional(v.instance(Uint8Array)),
  settled: v.optional(
    v.object({
      status: v.picklist(["completed", "failed", "cancelled"]),
      counts: v.record(v.picklist(outcomes), v.number()),
      finished_at: instant,
      offline: v.array(v.string()),
      places: v.optional(v.record(v.picklist(outcomes), v.array(place))),
    }),
  ),
});

/** Encodes a job for the bucket `jobs`. */
export function encodeJob(job: Job): Uint8Array {
  return encode({
    jid: job.jid,
    function: job.function,
    args: job.args,
    target: job.target,
    targets: job.targets,
    metadata: job.metadata,
    timeout_ms: job.timeoutMs,
    created_at: rfc3339(job.createdAt),
    created_by: job.createdBy,
    source: job.source,
    follow: job.follow,
    approved_by: job.approvedBy === undefined ? undefined : [...job.approvedBy],
    request_id: job.requestId,
    traceparent: job.traceparent,
    deadline: rfc3339(job.deadline),
    cancelled_at: job.cancelledAt === undefined ? undefined : rfc3339(job.cancelledAt),
    cancelled_by: job.cancelledBy,
    cancel_request_id: job.cancelRequestId,
    forbidden: job.forbidden,
    schedule: job.schedule,
    request: plainRequest(job.request),
    cancel_request: plainRequest(job.cancelRequest),
    voucher: job.voucher,
    cancel_voucher: job.cancelVoucher,
    settled: job.settled === undefined ? undefined : settledFields(job.settled),
  });
}

/** What was signed, as it is stored. */
export function plainRequest(signed: SignedRequestOf | undefined): Plain | undefined {
  if (signed === undefined) return undefined;
  const { subject, envelope, approvals, step, part } = signed;
  return defined({
    subject,
    envelope,
    approvals: approvals?.map((one) => ({ operator: one.operator, envelope: one.envelope })),
    step,
    part: part && { size: part.size, places: [...part.places], beside: [...part.beside] },
  });
}

function settledFields({ finishedAt, ...rest }: Settled) {
  return { ...rest, finished_at: rfc3339(finishedAt) };
}

/** Decodes a value of the bucket `jobs`. */
export function decodeJob(bytes: Uint8Array): Job {
  const stored = v.parse(storedJob, decode(bytes));
  const { timeout_ms, created_at, created_by, approved_by, request_id, settled, ...others } = stored;
  const { cancelled_at, cancelled_by, cancel_request_id, cancel_request, ...rest } = others;
  const { voucher, cancel_voucher, ...same } = rest;
  return withoutUndefined({
    ...same,
    timeoutMs: timeout_ms,
    createdAt: created_at,
    createdBy: created_by,
    approvedBy: approved_by,
    requestId: request_id,
    cancelledAt: cancelled_at,
    cancelledBy: cancelled_by,
    cancelRequestId: cancel_request_id,
    cancelRequest: cancel_request,
    // Copies: slices would keep the whole message in memory.
    voucher: voucher === undefined ? undefined : new Uint8Array(voucher),
    cancelVoucher: cancel_voucher === undefined ? undefined : new Uint8Array(cancel_voucher),
    settled: settled === undefined ? undefined : settledOf(settled),
  }) as Job;
}

function settledOf({
  finished_at,
  places,
  ...rest
}: NonNullable<v.InferOutput<typeof storedJob>["settled"]>) {
  return { ...rest, finishedAt: finished_at, ...defined({ places }) };
}

function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Partial<T>;
}
