import type { Random } from "../base/id.ts";
import { decode, encode, foreign, type Plain } from "../base/msgpack.ts";
import { seal } from "../identity/mod.ts";

// The return of a job is stored on the bus and read by many. What it hides is sealed to the operator who requested the job,
// for this job and this peel: a box that comes with another return does not open.

/** Which return it is. */
export interface ReturnOf {
  jid: string;
  /** Encoded peel id. */
  peel: string;
}

/** Opens a sealed box for one purpose with the key of an operator. @throws SvcError `bad_request` */
export type Unseal = (sealed: Uint8Array, purpose: Uint8Array) => Uint8Array;

/** @param recipient curve key of the operator, `X…` */
export function sealReturn(value: Plain, recipient: string, of: ReturnOf, random: Random): Uint8Array {
  return seal(encode(value), recipient, purposeOf(of), random);
}

/** @throws SvcError `bad_request` when it is for another key, job or peel, or was changed */
export function openReturn(sealed: Uint8Array, of: ReturnOf, unseal: Unseal): Plain {
  return decode(unseal(sealed, purposeOf(of)), foreign());
}

const purposeOf = ({ jid, peel }: ReturnOf): Uint8Array =>
  Buffer.from(["svc/return/v1", jid, peel].join("\0"), "utf8");
