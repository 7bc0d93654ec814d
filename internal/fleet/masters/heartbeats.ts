import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { type Bucket, readValues } from "../../bus/mod.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** What a master reports about its keys. */
export const masterKeys = v.object({
  command_keys: v.optional(v.array(v.string()), []),
  signs_with: v.optional(v.string(), ""),
  keys_problem: v.optional(v.string()),
  unconfirmed_peels: v.optional(v.array(v.string())),
  unconfirmed_count: v.optional(count),
  account_keys: v.optional(v.array(v.string()), []),
  issues_with: v.optional(v.string(), ""),
  issues_since: v.optional(v.string()),
});

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
  ...masterKeys.entries,
});
const leaseValue = v.object({
  holder: v.string(),
  token: v.optional(v.number()),
  since: v.optional(v.string()),
});

/** The heartbeat of a live master, with its name. */
export type MasterBeat = { name: string } & v.InferOutput<typeof masterBeat>;

/** The live masters: the entries of others expire within 15 s. @param bucket `master-heartbeat` */
export async function readMasters(bucket: Pick<Bucket, "entries">): Promise<MasterBeat[]> {
  const found = readValues(await bucket.entries(), masterBeat);
  return found.map(({ key, storedAt: _, revision: __, ...beat }) => ({ name: key, ...beat }));
}

/** A held lease: its holder, fencing token, and start (RFC 3339). */
export interface HeldLease {
  name: string;
  holder: string;
  token: number;
  /** When it was taken. */
  since?: string;
}

/** The leases that are held. @param bucket `leases` */
export async function readLeases(bucket: Pick<Bucket, "entries">): Promise<HeldLease[]> {
  const found = readValues(await bucket.entries(), leaseValue);
  return found.map(({ key, holder, token, since, revision }) => ({
    name: key,
    holder,
    token: token ?? revision,
    ...defined({ since }),
  }));
}
