import * as v from "valibot";
import { defined } from "../base/defined.ts";
import { encode, foreign, type Plain } from "../base/msgpack.ts";
import { isMap } from "../base/plain-map.ts";
import { record } from "../base/record.ts";
import { optional } from "../base/record-kinds.ts";
import { traceparentOf } from "../base/trace.ts";
import { maxEntryName } from "../program/config/mod.ts";
import type { Call } from "./call.ts";
import { type JobReturn, returnFields } from "./return.ts";

/** A run of a peel's schedule: what a peel publishes for an entry with `return_job`. */
export interface ScheduledRun {
  /** Name of the entry. */
  schedule: string;
  call: Call;
  result: JobReturn;
  /** The span of the run on the peel. */
  traceparent?: string;
}

/** The arguments go into the record of the job, and masters read records by the thousand. */
export const maxArgsBytes = 64 * 1024;

const maxFunctionName = 128;

const envelope = record(
  "run of a schedule",
  {
    ...returnFields,
    schedule: v.pipe(v.string(), v.minLength(1), v.maxLength(maxEntryName)),
    function: v.pipe(v.string(), v.minLength(1), v.maxLength(maxFunctionName)),
    args: v.custom<Readonly<Record<string, Plain>>>(isMap),
    traceparent: optional(v.pipe(v.unknown(), v.transform(traceparentOf))),
  },
  { isOpen: true, limits: foreign() },
);

export function encodeScheduledRun({ schedule, call, result, traceparent }: ScheduledRun): Uint8Array {
  const { function: name, args } = call;
  return envelope.encode({ ...result, schedule, function: name, args, ...defined({ traceparent }) });
}

/** @throws when the bytes are not such a run, or are too large: a peel may send anything */
export function decodeScheduledRun(bytes: Uint8Array): ScheduledRun {
  const { schedule, function: name, args, traceparent, ...result } = envelope.decode(bytes);
  const argsBytes = encode(args).length;
  if (argsBytes > maxArgsBytes) throw new Error(`the arguments have ${argsBytes} bytes`);
  return { schedule, call: { function: name, args }, result, ...defined({ traceparent }) };
}
