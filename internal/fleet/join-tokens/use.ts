import * as v from "valibot";
import { type RecordOf, record } from "../../base/record.ts";
import { count, time } from "../../base/record-kinds.ts";
import { vouched } from "../../identity/mod.ts";

// Each use of a token has a key of its own, from 0 to one less than the uses of the token: so there are never more,
// and hosts that join at the same time do not wait for each other. The master that takes a use writes its key by
// compare-and-swap, and a use that was given back keeps its key, so that a key that is gone was removed by others.

const text = v.pipe(v.string(), v.maxLength(256));

const fields = {
  /** Counts the writes of this key: an earlier one that is put back does not count. */
  n: count(1),
  /** Whether it was given back. */
  free: v.boolean(),
  /** The enrollment that it is for: `enr-…`. */
  enrollment: text,
  /** Encoded. */
  peelId: ["peel_id", text],
  /** Of the host, `U…`. */
  publicKey: ["public_key", text],
  /** When it was taken, milliseconds since the Unix epoch. */
  at: time,
} as const;

/** One use of a token, as it was written last. */
export type Use = RecordOf<typeof fields>;

export const { encode: encodeUse, decode: decodeUse } = vouched(record("use", fields, { version: 1 }), {
  kind: "join-token-use",
  content: (stored, key) => [key, ...Object.values(stored)],
});

/** @param slot 0 for the first one */
export const useKey = (token: string, slot: number): string => `${token}.${slot}`;

/** The parts of a key of the bucket; `slot` is absent for the token itself. */
export function parseKey(key: string): { token: string; slot?: number } {
  const dot = key.indexOf(".");
  if (dot < 0) return { token: key };
  const text = key.slice(dot + 1);
  return { token: key.slice(0, dot), slot: /^(?:0|[1-9]\d{0,5})$/.test(text) ? Number(text) : -1 };
}
