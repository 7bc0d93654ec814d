import * as v from "valibot";
import { record } from "../../base/record.ts";
import { list, optional, part, text, time } from "../../base/record-kinds.ts";
import { nothingSeen, type Standing } from "./standing.ts";

const isOpen = true;
const seen = part({ id: v.string(), first: time, last: time, seq: v.number() }, { isOpen });

const stored = record(
  "instances",
  {
    /** Another enrollment of the same peel is another identity. */
    enrollmentId: ["enrollment_id", text(64)],
    seen: list(seen, 16),
    restoredAt: ["restored_at", optional(time)],
  },
  { isOpen },
);

/** What is known of the instances of one peel. */
export interface Known {
  readonly enrollmentId: string;
  readonly standing: Standing;
  /** When its host was last seen to be set back to an earlier state. */
  readonly restoredAt?: number | undefined;
}

/** What a master that starts later needs. */
export function encodeKnown({ enrollmentId, standing, restoredAt }: Known): Uint8Array {
  return stored.encode({
    enrollmentId,
    seen: standing.seen.map(({ id, first, last, seq }) => ({
      ...{ id, seq, first: Math.floor(first), last: Math.floor(last) },
    })),
    ...(restoredAt === undefined ? {} : { restoredAt: Math.floor(restoredAt) }),
  });
}

/** @returns `undefined` for what cannot be read */
export function readKnown(value: Uint8Array): Known | undefined {
  const found = stored.decodeOrNothing(value);
  if (found === undefined) return undefined;
  const { enrollmentId, restoredAt } = found;
  return { enrollmentId, restoredAt, standing: { ...nothingSeen, seen: found.seen } };
}
