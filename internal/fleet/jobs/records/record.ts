import * as v from "valibot";
import type { Plain } from "../../../base/msgpack.ts";
import { type RecordOf, record } from "../../../base/record.ts";
import { bytes, list, optional, part, time } from "../../../base/record-kinds.ts";
import { traceparentOf } from "../../../base/trace.ts";
import { content } from "../../../wire/content.ts";
import { releasedContent } from "../../../wire/released-content.ts";
import { type Outcome, outcomes } from "./outcome.ts";
import type { OutcomePlaces } from "./outcome-places.ts";
import { jobSources } from "./source.ts";

// Fields that are not known are ignored.
const isOpen = true;
const plainMap = v.custom<Record<string, Plain>>((value) => typeof value === "object" && value !== null);
const texts = v.array(v.string());
/** More than any fleet has. */
const maxPeels = 10_000_000;
const place = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(maxPeels));
/** Number of peels by outcome. */
export const countsField: v.GenericSchema<Partial<Record<Outcome, number>>> = v.record(
  v.picklist(outcomes),
  v.number(),
);
const placesField: v.GenericSchema<OutcomePlaces> = v.record(v.picklist(outcomes), v.array(place));

/** A signed request as it arrived, and what others signed about it. */
export const signedRequest = part(
  {
    subject: v.string(),
    envelope: bytes(),
    /** Those who agreed to it, with what they signed. */
    approvals: optional(list(part({ operator: v.string(), envelope: bytes() }, { isOpen }))),
    /** The job is the check of a wave, and not the wave. */
    step: optional(v.literal("check")),
    /** The place of its targets among the signed ones; absent where all of these are its targets. */
    part: optional(part({ size: place, places: list(place), beside: list(bytes()) }, { isOpen })),
  },
  { isOpen },
);
export type SignedRequestOf = v.InferOutput<typeof signedRequest.read>;

/** How a job ended. A return that comes later changes it. */
const settled = part(
  {
    status: v.picklist(["completed", "failed", "cancelled"]),
    counts: countsField,
    /** Targets that never took the job and were not alive at the deadline. */
    offline: texts,
    /**
     * The places in `targets` of those that were not offline and have another outcome than the most frequent one;
     * absent when there are none.
     */
    places: optional(placesField),
    finishedAt: ["finished_at", time],
  },
  { isOpen },
);
export type Settled = v.InferOutput<typeof settled.read>;

const fields = {
  jid: v.string(),
  function: v.string(),
  args: plainMap,
  /** The target expression, if there was one. */
  target: optional(v.string()),
  /** The files of the tree that it was accepted for. */
  content: optional(content),
  /** What its peels run that run released files alone, where that differs. */
  released: optional(releasedContent),
  /** Encoded IDs of the target peels. */
  targets: texts,
  metadata: plainMap,
  /** How long a peel may take, milliseconds. */
  timeoutMs: ["timeout_ms", v.number()],
  createdAt: ["created_at", time],
  createdBy: ["created_by", v.string()],
  /** What made it. */
  source: optional(v.fallback(v.optional(v.picklist(jobSources)), undefined)),
  /** Its peels report what a command writes while it runs. Changing it in the record gains an attacker nothing. */
  follow: optional(v.literal(true)),
  /** The curve key of the operator who sees what its returns hide. */
  sealTo: ["seal_to", optional(v.string())],
  /** The other operators who agreed to it. */
  approvedBy: ["approved_by", optional(list(v.string()))],
  /** The ID of the request that dispatched it, as in the logs. */
  requestId: ["request_id", optional(v.string())],
  /**
   * The span that its peels' work is part of. It is only shown, so no MAC covers it; what reads it takes nothing but the
   * form of a trace.
   */
  traceparent: optional(v.pipe(v.unknown(), v.transform(traceparentOf))),
  deadline: time,
  cancelledAt: ["cancelled_at", optional(time)],
  cancelledBy: ["cancelled_by", optional(v.string())],
  cancelRequestId: ["cancel_request_id", optional(v.string())],
  /** It is a tombstone: it was never sent, and its ID is used so that the job can never be created. */
  forbidden: optional(v.literal(true)),
  /** The entry of the peel's schedule that ran it; such a job was not dispatched, and has ended. */
  schedule: optional(v.string()),
  /** What an operator signed to create it, and to cancel it; peels may insist on seeing that. */
  request: optional(signedRequest),
  cancelRequest: ["cancel_request", optional(signedRequest)],
  /** Prove that a master created it, and that a master cancelled it: see record-mac.ts. */
  voucher: optional(bytes()),
  cancelVoucher: ["cancel_voucher", optional(bytes())],
  /** Written by a master when every target has ended, so that lists need not read the returns. */
  settled: optional(settled),
} as const;

/** A job as it was dispatched; its results are in the returns. Times are milliseconds since the Unix epoch. */
export type Job = RecordOf<typeof fields>;

/** The form of the values of the bucket `jobs`. */
export const { encode: encodeJob, decode: decodeJob } = record("job", fields, { isOpen });
