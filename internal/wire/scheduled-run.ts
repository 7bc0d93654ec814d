import * as v from "valibot";
import { defined } from "../base/defined.ts";
import { decodeForeign, encode, type Plain } from "../base/msgpack.ts";
import { traceparentOf } from "../base/trace.ts";
import { maxEntryName } from "../program/config/mod.ts";
import type { Call } from "./call.ts";
import { decodeReturn, type JobReturn } from "./return.ts";

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

const envelope = v.object({
  schedule: v.pipe(v.string(), v.minLength(1), v.maxLength(maxEntryName)),
  function: v.pipe(v.string(), v.minLength(1), v.maxLength(maxFunctionName)),
  args: v.custom<Record<string, Plain>>(
    (value) =>
      typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype,
  ),
  traceparent: v.optional(v.pipe(v.unknown(), v.transform(traceparentOf))),
});

export function encodeScheduledRun({ schedule, call, result, traceparent }: ScheduledRun): Uint8Array {
  return encode({
    ...result,
    ...{ schedule, function: call.function, args: call.args },
    ...defined({ traceparent }),
  });
}

/** @throws when the bytes are not such a run, or are too large: a peel may send anything */
export function decodeScheduledRun(bytes: Uint8Array): ScheduledRun {
  const { schedule, function: name, args, traceparent } = v.parse(envelope, decodeForeign(bytes));
  const argsBytes = encode(args).length;
  if (argsBytes > maxArgsBytes) throw new Error(`the arguments have ${argsBytes} bytes`);
  const run = { schedule, call: { function: name, args }, result: decodeReturn(bytes) };
  return { ...run, ...defined({ traceparent }) };
}
