import * as v from "valibot";
import { decode, encode, type Plain } from "../../base/msgpack.ts";

/** A function with its arguments, as in a dispatch command or in a schedule. */
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

/** @param requestId the ID of the request, for the logs of the peel */
export function encodeCall(call: Call, requestId?: string): Uint8Array {
  return encode({ function: call.function, args: call.args, request_id: requestId });
}

/** The body of a stop command. @param requestId the ID of the request */
export function encodeStop(requestId: string | undefined): Uint8Array {
  return requestId === undefined ? new Uint8Array() : encode({ request_id: requestId });
}

/** @throws when the bytes are not a call */
export function decodeCall(bytes: Uint8Array): Call {
  return v.parse(schema, decode(bytes));
}
