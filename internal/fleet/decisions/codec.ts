import * as v from "valibot";
import { record } from "../../base/record.ts";
import { bytes, optional } from "../../base/record-kinds.ts";
import { sha256 } from "../../base/sha256.ts";
import type { Decision } from "./decision.ts";

// A record of the file: the mark, the length of the payload (4 bytes, big-endian), the checksum, the payload.
// The checksum covers the position in the file. A host can choose bytes of its own record, for example in its
// metadata, but not where they are stored: bytes that look like a record never count as one.

const mark = Buffer.from("SVCD", "latin1");
const checksumBytes = 16;
const headBytes = mark.length + 4 + checksumBytes;
/** More than the bus stores in one message. */
const maxPayloadBytes = 16 * 1024 * 1024;

// Values are copied: the bytes of one record must not keep the whole file in memory.
const fields = { at: v.number(), bucket: v.string(), key: v.string(), value: optional(bytes()) } as const;
const stored = record("decision", fields, { isOpen: true });

/** Encodes a decision for this position in the file. */
export function encodeDecision(decision: Decision, position: number): Buffer {
  const payload = stored.encode(decision);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([mark, length, checksum(payload, position), payload]);
}

/** What a file of decisions contains. */
export interface DecisionFile {
  decisions: Decision[];
  /** Where the last whole record ends. */
  end: number;
  /** Whether what follows was cut off while it was written. */
  isTorn: boolean;
  /** Damaged parts: between whole records, and at the end unless it is torn. */
  damaged: { from: number; to: number }[];
}

/** Reads a file of decisions. Every record that is whole is found, whatever is damaged around it. */
export function readDecisions(bytes: Buffer): DecisionFile {
  const decisions: Decision[] = [];
  const damaged: DecisionFile["damaged"] = [];
  let end = 0;
  for (let at = 0; at < bytes.length; ) {
    const found = readAt(bytes, at);
    if (found === undefined) {
      at = bytes.indexOf(mark, at + 1);
      if (at < 0) break;
      continue;
    }
    if (at > end) damaged.push({ from: end, to: at });
    if (found.decision !== undefined) decisions.push(found.decision);
    end = at = found.end;
  }
  const isTorn = end < bytes.length && endsEarly(bytes.subarray(end));
  if (end < bytes.length && !isTorn) damaged.push({ from: end, to: bytes.length });
  return { decisions, end, isTorn, damaged };
}

/** Whether this is the beginning of a record, and less than the record has. */
function endsEarly(tail: Buffer): boolean {
  if (!tail.subarray(0, mark.length).equals(mark.subarray(0, tail.length))) return false;
  return tail.length < headBytes || tail.length < headBytes + tail.readUInt32BE(mark.length);
}

/** The record at a position. A whole record that only another version understands has no `decision`. */
function readAt(bytes: Buffer, at: number): { decision: Decision | undefined; end: number } | undefined {
  const start = at + headBytes;
  if (start > bytes.length || bytes.compare(mark, 0, mark.length, at, at + mark.length) !== 0)
    return undefined;
  const length = bytes.readUInt32BE(at + mark.length);
  const end = start + length;
  if (length > maxPayloadBytes || end > bytes.length) return undefined;
  const payload = bytes.subarray(start, end);
  const expected = bytes.subarray(at + mark.length + 4, start);
  if (!checksum(payload, at).equals(expected)) return undefined;
  return { decision: stored.decodeOrNothing(payload), end };
}

function checksum(payload: Uint8Array, position: number): Buffer {
  const place = Buffer.alloc(8);
  place.writeBigUInt64BE(BigInt(position));
  return sha256(Buffer.concat([place, payload])).subarray(0, checksumBytes);
}
