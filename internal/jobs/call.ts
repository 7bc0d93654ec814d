import * as v from "valibot";
import { decode, encode, type Plain } from "../base/msgpack.ts";

/** A function with its arguments: what a dispatch command carries, and what the scheduler runs. */
export interface Call {
  /** `module.function`. */
  function: string;
  args: Readonly<Record<string, Plain>>;
}

const schema = v.object({
  function: v.string(),
  args: v.record(
    v.string(),
    v.custom<Plain>(() => true),
  ),
});

export function encodeCall(call: Call): Uint8Array {
  return encode({ function: call.function, args: call.args });
}

/** @throws when the bytes are no call */
export function decodeCall(bytes: Uint8Array): Call {
  return v.parse(schema, decode(bytes));
}
