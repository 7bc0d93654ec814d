import { decode } from "../../base/msgpack.ts";
import { isPeelId } from "../../base/names/peel-id.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { optional, text, textOf, time } from "../../base/record-kinds.ts";
import { decodePublicKey, vouched } from "../../identity/mod.ts";
import { labelsField } from "../enrollment/record/mod.ts";
import { makerField } from "../roles/mod.ts";

const fields = {
  /** Encoded; also the key in the bucket, so that a peel id is expected with one key. */
  peelId: ["peel_id", textOf(isPeelId, "a peel id")],
  /** `U…` */
  publicKey: [
    "public_key",
    textOf((found) => decodePublicKey("user", found) !== undefined, "the key of a user"),
  ],
  labels: optional(labelsField),
  /** The operator who expects it. */
  by: text(256),
  at: time,
  endsAt: ["ends_at", time],
  /** The enrollment that took it, if that enrollment was decided by this entry. */
  takenBy: ["taken_by", optional(text(256))],
  takenAt: ["taken_at", optional(time)],
  maker: optional(makerField),
} as const;

/** A host that may join once, when it proves this key. Times are milliseconds since the Unix epoch. */
export type ExpectedHost = RecordOf<typeof fields>;

export const { encode: encodeExpected, decode: decodeExpected } = vouched(
  record("expected host", fields, { version: 1 }),
  {
    kind: "expected",
    keyOf: ({ peelId }) => peelId,
    idOf: ({ peelId }) => peelId,
    content(
      { maker },
      _key,
      { peelId, publicKey, labels = {}, by, at, endsAt, takenBy = null, takenAt = null },
    ) {
      const sorted = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
      const known = maker === undefined ? [] : [maker];
      return [1, peelId, publicKey, sorted, by, at, endsAt, takenBy, takenAt, ...known];
    },
  },
);

/**
 * When a stored entry ends by its own account, without a proof: enough to remove it, and much faster than to read it.
 *
 * @returns milliseconds since the Unix epoch; 0 for what is not an entry
 */
export function claimedEnd(value: Uint8Array): number {
  try {
    const { ends_at } = Object(decode(value)) as Record<string, unknown>;
    return (typeof ends_at === "string" && Date.parse(ends_at)) || 0;
  } catch {
    return 0;
  }
}
