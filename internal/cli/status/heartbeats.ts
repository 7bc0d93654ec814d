import * as v from "valibot";
import { decode } from "../../base/msgpack.ts";
import type { Bucket, Entry } from "../../bus/bucket.ts";

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

/** A master that is alive, by the name it has everywhere, as it says of itself. */
export type MasterBeat = { name: string } & v.InferOutput<typeof masterBeat>;

/** What is stored of a key, and since when. */
type Stored<T> = T & Pick<Entry, "key" | "storedAt" | "revision">;

/** The masters that are alive: the bucket forgets the others within 15 s. */
export async function readMasters(bucket: Bucket): Promise<MasterBeat[]> {
  const found = await readAll(bucket, masterBeat);
  return found.map(({ key, storedAt: _, revision: __, ...beat }) => ({ name: key, ...beat }));
}

/** The peels that are alive, by encoded id: the bucket forgets the others within 30 s. */
export const readPeels = (bucket: Bucket): Promise<Stored<v.InferOutput<typeof peelBeat>>[]> =>
  readAll(bucket, peelBeat);

/** A lease that a master holds: who, under which fencing token, and since when (RFC 3339). */
export interface HeldLease {
  name: string;
  holder: string;
  token: number;
  /** Absent for a holder of an earlier version. */
  since?: string;
}

/** The leases that somebody holds. */
export async function readLeases(bucket: Bucket): Promise<HeldLease[]> {
  const found = await readAll(bucket, leaseValue);
  return found.map(({ key, holder, token, since, revision }) => ({
    name: key,
    holder,
    token: token ?? revision,
    ...(since === undefined ? {} : { since }),
  }));
}

/**
 * By key, so that two looks differ only where something changed. What does not read as it should is left out:
 * a peel may store anything in its own place.
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
