import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { decode } from "../../base/msgpack.ts";
import type { Bucket, Entry } from "../../bus/mod.ts";

const masterBeat = v.object({
  hostname: v.string(),
  version: v.string(),
  started_at: v.string(),
  certificate_ends_at: v.optional(v.string()),
});
const peelBeat = v.object({ version: v.string(), started_at: v.string() });
const leaseValue = v.object({
  holder: v.string(),
  token: v.optional(v.number()),
  since: v.optional(v.string()),
});

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
export const readPeels = (bucket: Bucket): Promise<Stored<v.InferOutput<typeof peelBeat>>[]> =>
  readAll(bucket, peelBeat);

/** A held lease: its holder, fencing token, and start (RFC 3339). */
export interface HeldLease {
  name: string;
  holder: string;
  token: number;
  /** Absent for a holder of an earlier version. */
  since?: string;
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
  const entries = (await bucket.entries()).sort((one, other) => (one.key < other.key ? -1 : 1));
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
