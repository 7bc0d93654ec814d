import { attempt, SvcError } from "../base/errors.ts";
import { decodeForeign, type Plain } from "../base/msgpack.ts";
import { isMap } from "../base/plain-map.ts";

// What a peel stores of its host: plain data by name. `encodeFacts` of the facts of a host makes the bytes, because a
// peel also compares them with what it stored before.

/** @throws SvcError `bad_request` when the bytes are not facts: a peel may store anything */
export function openFacts(bytes: Uint8Array): Record<string, Plain> {
  const facts = decodeForeign(bytes);
  if (isMap(facts)) return facts;
  throw new SvcError("bad_request", "the facts of the peel are not a map");
}

/** The same; `undefined` for bytes that are not facts. */
export function readFacts(bytes: Uint8Array): Record<string, Plain> | undefined {
  return attempt(() => openFacts(bytes));
}
