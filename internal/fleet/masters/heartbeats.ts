import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { foreign } from "../../base/msgpack.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { bytes, optional } from "../../base/record-kinds.ts";
import { described } from "../../base/schema.ts";
import { decodeHeld } from "../../bus/lease/mod.ts";
import { type Bucket, readValues } from "../../bus/storage/mod.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const texts = v.optional(v.pipe(v.array(v.string()), v.readonly()), []);
const text = v.optional(v.string(), "");

const keyFields = {
  account_keys: texts,
  issues_with: text,
  issues_since: optional(v.string()),
  command_keys: texts,
  signs_with: text,
  settings_keys: optional(v.pipe(v.array(v.string()), v.readonly())),
  keys_problem: optional(v.string()),
  unconfirmed_peels: optional(v.array(v.string())),
  unconfirmed_count: optional(count),
} as const;

/** What a master reports about its keys. */
export const masterKeys = v.object(record("keys", keyFields).shownEntries);
export type MasterKeys = RecordOf<typeof keyFields>;

/** A source of which a master refuses requests or connections, because there are too many. */
export const limitedSource = v.object({
  source: described(v.string(), "As in `cidr` of `enroll.networks`: an IPv4 address, or an IPv6 /64"),
  refused: described(count, "How many it refused within the last five to ten minutes"),
  network: v.exactOptional(described(v.string(), "The named network whose budget it spends")),
});

const fields = {
  hostname: v.string(),
  version: v.string(),
  started_at: v.string(),
  certificate_ends_at: optional(v.string()),
  /** How long after the end of its credentials a peel may recover them. */
  recovery_window_ms: optional(v.pipe(v.number(), v.minValue(0))),
  ca_spki: optional(v.string()),
  /** By how much its clock is ahead of the bus, if that is known. */
  clock_ahead_ms: optional(v.number()),
  /** The sources that it limits most, if there are any. */
  limited: optional(v.pipe(v.array(limitedSource), v.readonly())),
  /** How often the bus was started again that it runs, and when last, RFC 3339. */
  bus_restarts: optional(count),
  bus_restarted_at: optional(v.string()),
  /** While another program listens on its `health_addr`. */
  health: optional(v.literal("off")),
  /** While the root is rotated. */
  ca_next_spki: optional(v.string()),
  ca_phase: optional(v.string()),
  /** HMAC of the files that it reads from its own host, by kind. */
  files: optional(v.record(v.string(), bytes(32))),
  ...keyFields,
} as const;

/** What a live master says of itself every few seconds: the values of the bucket `master-heartbeat`. */
export const {
  encode: encodeMasterBeat,
  decode: decodeMasterBeat,
  decodeOrNothing: readMasterBeat,
} = record("heartbeat", fields, { isOpen: true, limits: foreign() });

/** The live masters, by name: the entries of others expire within 15 s. */
export const readMasters = async (bucket: Pick<Bucket, "entries">) =>
  readValues(await bucket.entries(), decodeMasterBeat);

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
  const found = readValues(await bucket.entries(), decodeHeld);
  return found.map(({ key, holder, token, since, revision }) => ({
    name: key,
    holder,
    token: token ?? revision,
    ...defined({ since }),
  }));
}
