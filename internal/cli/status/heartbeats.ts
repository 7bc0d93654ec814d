import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { formatDuration } from "../../base/duration.ts";
import { decode } from "../../base/msgpack.ts";
import type { Bucket, Entry } from "../../bus/mod.ts";

const masterBeat = v.object({
  hostname: v.string(),
  version: v.string(),
  started_at: v.string(),
  certificate_ends_at: v.optional(v.string()),
  ca_spki: v.optional(v.string()),
  /** While the root is rotated. */
  ca_next_spki: v.optional(v.string()),
  ca_phase: v.optional(v.string()),
  /** How long after the end of its credentials a peel may recover them. */
  recovery_window_ms: v.optional(v.pipe(v.number(), v.minValue(0))),
});
const peelBeat = v.object({
  version: v.string(),
  started_at: v.string(),
  sent_at: v.optional(v.string()),
  commands_refused: v.optional(v.record(v.string(), v.number())),
  /** While masters have other keys than the peel, or more than one. */
  /** Digest of the administrators that it knows, empty without any; only of a peel that obeys operators only. */
  administrators: v.optional(v.fallback(v.optional(v.string()), undefined)),
  knows_command_keys: v.optional(v.fallback(v.optional(v.array(v.string())), undefined)),
});
const leaseValue = v.object({
  holder: v.string(),
  token: v.optional(v.number()),
  since: v.optional(v.string()),
});

/** The heartbeat of a live peel. */
export type PeelBeat = v.InferOutput<typeof peelBeat>;

/** The heartbeat of a live master, with its name. */
export type MasterBeat = { name: string } & v.InferOutput<typeof masterBeat>;

/** The value of a key, and when it was stored. */
type Stored<T> = T & Pick<Entry, "key" | "storedAt" | "revision">;

/** The live masters: the entries of others expire within 15 s. */
export async function readMasters(bucket: Bucket): Promise<MasterBeat[]> {
  const found = await readAll(bucket, masterBeat);
  return found.map(({ key, storedAt: _, revision: __, ...beat }) => ({ name: key, ...beat }));
}

/** The live peels, by encoded id: the entries of others expire within 30 s. */
export const readPeels = (bucket: Bucket): Promise<Stored<PeelBeat>[]> => readAll(bucket, peelBeat);

/** The heartbeat of one live peel. @param peel encoded id */
export async function readPeel(bucket: Bucket, peel: string): Promise<Stored<PeelBeat> | undefined> {
  const entry = await bucket.get(peel);
  return entry === undefined ? undefined : readEntries([entry], peelBeat)[0];
}

/** A held lease: its holder, fencing token, and start (RFC 3339). */
export interface HeldLease {
  name: string;
  holder: string;
  token: number;
  /** Absent for a holder of an earlier version. */
  since?: string;
}

/** More than this counts as a difference: a heartbeat takes a moment to the bus. */
const clockToleranceMs = 5_000;

/**
 * By how much the clock of a peel differs from that of the bus, milliseconds, positive when it is ahead;
 * `undefined` when it does not differ, or the peel does not report it.
 */
export function clockDifferenceOf(beat: {
  sent_at?: string | undefined;
  storedAt: number;
}): number | undefined {
  const difference = Date.parse(beat.sent_at ?? "") - beat.storedAt;
  return Math.abs(difference) > clockToleranceMs ? difference : undefined;
}

/** `10m ahead`, `2h behind` */
export function differenceWords(ms: number): string {
  return `${formatDuration(Math.round(Math.abs(ms) / 1000) * 1000)} ${ms > 0 ? "ahead" : "behind"}`;
}

/** The leases that are held. */
export async function readLeases(bucket: Bucket): Promise<HeldLease[]> {
  const found = await readAll(bucket, leaseValue);
  return found.map(({ key, holder, token, since, revision }) => ({
    name: key,
    holder,
    token: token ?? revision,
    ...defined({ since }),
  }));
}

/**
 * Sorted by key, so that two outputs differ only where something changed. Malformed values are skipped: a peel
 * may store anything under its own key.
 */
async function readAll<Schema extends v.GenericSchema<unknown, object>>(
  bucket: Bucket,
  schema: Schema,
): Promise<Stored<v.InferOutput<Schema>>[]> {
  return readEntries(
    (await bucket.entries()).sort((one, other) => (one.key < other.key ? -1 : 1)),
    schema,
  );
}

function readEntries<Schema extends v.GenericSchema<unknown, object>>(
  entries: readonly Entry[],
  schema: Schema,
): Stored<v.InferOutput<Schema>>[] {
  return entries.flatMap(({ key, value, storedAt, revision }) => {
    const parsed = v.safeParse(schema, safely(value));
    return parsed.success ? [{ ...parsed.output, key, storedAt, revision }] : [];
  });
}

function safely(bytes: Uint8Array): unknown {
  try {
    return decode(bytes);
  } catch {
    return undefined;
  }
}
