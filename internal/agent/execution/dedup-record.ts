import { crc32 } from "node:zlib";
import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { instant } from "../../base/instant.ts";
import { decodeSequence, encode } from "../../base/msgpack.ts";

/** `accepted` until its return is stored; `cancelled` when the cancellation arrived before the job. */
export type JobState = "accepted" | "done" | "cancelled";

/** The record of a job. */
export interface JobEntry {
  state: JobState;
  /** Milliseconds since the Unix epoch. */
  deadline: number;
  /** When it was recorded. */
  at: number;
}

/** The content of a journal. */
export interface Journal {
  /** By jid, in the order they were first recorded. */
  entries: Map<string, JobEntry>;
  /** The latest deadline of all removed entries. */
  forgottenUntil: number;
  /** Jobs created before this time may have been recorded in a damaged file. */
  damagedUntil: number;
}

/** Maximum size of a record, and so of what a crash may leave unfinished at the end of the file. */
const longestRecordBytes = 512;

const record = v.object({
  jid: v.string(),
  state: v.picklist(["accepted", "done", "cancelled", "limits"]),
  deadline: instant,
  at: instant,
  sum: v.number(),
});

export function encodeEntry(jid: string, entry: JobEntry): Uint8Array {
  return encodeRecord(jid, entry.state, entry.deadline, entry.at);
}

/** Encodes a journal without its history. */
export function encodeJournal({ entries, forgottenUntil, damagedUntil }: Journal): Uint8Array {
  return Buffer.concat([
    ...(forgottenUntil === 0 && damagedUntil === 0
      ? []
      : [encodeRecord("", "limits", forgottenUntil, damagedUntil)]),
    ...[...entries].map(([jid, entry]) => encodeEntry(jid, entry)),
  ]);
}

/**
 * Reads a journal up to its first incomplete record.
 *
 * @returns `rest`: whether the file ends there, with a truncated record after a crash, or with damage
 */
export function decodeJournal(bytes: Uint8Array): Journal & { rest: "none" | "torn" | "damage" } {
  const journal: Journal = { entries: new Map(), forgottenUntil: 0, damagedUntil: 0 };
  let wholeUntil = 0;
  for (const { value, end } of decodeSequence(bytes)) {
    const parsed = v.safeParse(record, value);
    if (!parsed.success) break;
    const { jid, state, deadline, at, sum } = parsed.output;
    if (sum !== checksum(jid, state, deadline, at)) break;
    if (state === "limits") {
      journal.forgottenUntil = Math.max(journal.forgottenUntil, deadline);
      journal.damagedUntil = Math.max(journal.damagedUntil, at);
    } else journal.entries.set(jid, { state, deadline, at });
    wholeUntil = end;
  }
  const restBytes = bytes.length - wholeUntil;
  const rest = restBytes === 0 ? "none" : restBytes <= longestRecordBytes ? "torn" : "damage";
  return { ...journal, rest };
}

function encodeRecord(jid: string, state: JobState | "limits", deadline: number, at: number): Uint8Array {
  const sum = checksum(jid, state, deadline, at);
  return encode({ jid, state, deadline: rfc3339(deadline), at: rfc3339(at), sum });
}

/** Checksum of the values of a record, not of their encoding. */
function checksum(jid: string, state: string, deadline: number, at: number): number {
  return crc32([jid, state, rfc3339(deadline), rfc3339(at)].join("\0"));
}
