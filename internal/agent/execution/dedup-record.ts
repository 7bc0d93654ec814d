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
  /** Counts the times the whole file was written. */
  generation: number;
}

/** A journal as it was read. */
export interface ReadJournal extends Journal {
  /** Where the file stops being whole: after a record that a crash cut off, or that is damaged. */
  rest: "none" | "torn" | "damage";
  /** End of the last readable record. */
  readableUntil: number;
}

const record = v.object({
  jid: v.string(),
  state: v.picklist(["accepted", "done", "cancelled", "limits"]),
  deadline: instant,
  at: instant,
  sum: v.number(),
});

export function encodeEntry(jid: string, { state, deadline, at }: JobEntry): Uint8Array {
  return encodeRecord({ jid, state, deadline, at });
}

/** Encodes a journal without its history. */
export function encodeJournal({ entries, forgottenUntil, damagedUntil, generation }: Journal): Uint8Array {
  return Buffer.concat([
    encodeRecord({
      // A place that the checksum covers.
      jid: String(generation),
      state: "limits",
      deadline: forgottenUntil,
      at: damagedUntil,
    }),
    ...[...entries].map(([jid, entry]) => encodeEntry(jid, entry)),
  ]);
}

/**
 * Reads a journal. Only a last record that ends before its own length is torn. Everything else that cannot be
 * read is damage, and what follows it is read.
 */
export function decodeJournal(bytes: Uint8Array): ReadJournal {
  const journal: Journal = { entries: new Map(), forgottenUntil: 0, damagedUntil: 0, generation: 0 };
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let rest: ReadJournal["rest"] = "none";
  let readableUntil = 0;
  for (let at = 0; at < file.length; ) {
    const found = readRecord(file.subarray(at));
    if (found === "torn") {
      if (rest === "none") rest = "torn";
      break;
    }
    if (found === "damage") {
      rest = "damage";
      at = nextStart(file, at + 1);
      continue;
    }
    at += found.size;
    readableUntil = at;
    note(journal, found.value);
  }
  return { ...journal, rest, readableUntil };
}

type Fields = Omit<v.InferOutput<typeof record>, "sum">;

function note(journal: Journal, { jid, state, deadline, at }: Fields): void {
  if (state !== "limits") {
    journal.entries.set(jid, { state, deadline, at });
    return;
  }
  journal.forgottenUntil = Math.max(journal.forgottenUntil, deadline);
  journal.damagedUntil = Math.max(journal.damagedUntil, at);
  journal.generation = Number(jid);
}

/**
 * A record is a map that begins with its length and the complement of it, both in a fixed number of bytes:
 * the length tells a record that was cut off from a damaged one, and no changed byte passes for a length.
 */
const lengthKey = Buffer.concat([encode("length"), Buffer.of(0xcd)]);
const complementKey = Buffer.concat([encode("complement"), Buffer.of(0xcd)]);
const lengthAt = 1 + lengthKey.length;
const complementAt = lengthAt + 2 + complementKey.length;
const headSize = complementAt + 2;
/** A map of seven fields. */
const mapHead = 0x87;
const maxBodyBytes = 0xffff;

function encodeRecord(fields: Fields): Uint8Array {
  const { deadline, at } = fields;
  const body = encode({ ...fields, deadline: rfc3339(deadline), at: rfc3339(at), sum: checksum(fields) });
  const head = Buffer.alloc(headSize);
  head[0] = mapHead;
  lengthKey.copy(head, 1);
  head.writeUInt16BE(body.length - 1, lengthAt);
  complementKey.copy(head, lengthAt + 2);
  head.writeUInt16BE(maxBodyBytes - (body.length - 1), complementAt);
  return Buffer.concat([head, body.subarray(1)]);
}

/** Reads the record at the beginning of some bytes. */
function readRecord(bytes: Buffer): { value: Fields; size: number } | "torn" | "damage" {
  if (bytes[0] !== mapHead || !agrees(bytes, 1, lengthKey) || !agrees(bytes, lengthAt + 2, complementKey))
    return "damage";
  if (bytes.length < headSize) return "torn";
  const length = bytes.readUInt16BE(lengthAt);
  if (bytes.readUInt16BE(complementAt) !== maxBodyBytes - length) return "damage";
  const size = headSize + length;
  if (bytes.length < size) return "torn";
  const [first] = decodeSequence(bytes.subarray(0, size));
  const parsed = v.safeParse(record, first?.value);
  if (first?.end !== size || !parsed.success || parsed.output.sum !== checksum(parsed.output))
    return "damage";
  return { value: parsed.output, size };
}

/** Where the next record may begin: nothing else in a file looks like its first bytes. */
function nextStart(file: Buffer, from: number): number {
  const key = file.indexOf(lengthKey, from + 1);
  return key === -1 ? file.length : key - 1;
}

/** Whether as much of `expected` as the bytes contain at this offset is there. */
function agrees(bytes: Buffer, at: number, expected: Buffer): boolean {
  const part = bytes.subarray(at, at + expected.length);
  return part.equals(expected.subarray(0, part.length));
}

/** Checksum of the values of a record, not of their encoding. */
function checksum({ jid, state, deadline, at }: Fields): number {
  return crc32([jid, state, rfc3339(deadline), rfc3339(at)].join("\0"));
}
