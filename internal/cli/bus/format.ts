import { displayPeelId, type PeelNames } from "../../base/names/peel-id.ts";
import type { Backup } from "../../bus/storage/mod.ts";
import { formatFields, formatTable, type TableStyle } from "../../program/command-line/mod.ts";

/** A backup for people: its streams, and the newest decision in it. */
export function formatBackup({ streams, newest_decision: newest }: Backup, style: TableStyle): string {
  const table = formatTable(
    { STREAM: "text", BYTES: "word" },
    streams.map(({ name, bytes }) => [name, `${bytes}`]),
    style,
  );
  return `${table}\n\n${formatFields([["newest decision", newest === undefined ? "none" : describe(newest)]])}`;
}

function describe(newest: Readonly<Record<string, unknown>>): string {
  const { at, state, peel_id, key } = newest;
  return `${String(at)} ${String(state)} ${displayPeelId(String(peel_id))} (${String(key)})`;
}

/** A decision that a backup lacked, and what was in its place: `missing`, or the state of an older record. */
export interface AddedDecision extends PeelNames {
  bucket: string;
  key: string;
  was: string;
}

/** Decisions that were put back from a log, one a line. */
export function formatDecisions(added: readonly AddedDecision[], style: TableStyle): string {
  return formatTable(
    { BUCKET: "spare word", DECISION: "word", PEEL: "text", "IN THE BACKUP": "word" },
    added.map(({ bucket, key, peel_id, was }) => [bucket, key, displayPeelId(peel_id) || "-", was]),
    style,
  );
}
