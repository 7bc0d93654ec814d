import { encode } from "../base/msgpack.ts";

/** What a peel says before it runs a job that changes something. Masters go by the subject alone. */
export const acknowledgement: Uint8Array = encode({ accepted: true });
