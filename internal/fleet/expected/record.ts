import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { isPeelId } from "../../base/peel-id.ts";
import { decodePublicKey, isEqualMac, macsFor, type RecordMac } from "../../identity/mod.ts";
import { type Labels, labelsField } from "../enrollment/mod.ts";

/** A host that may join once, when it proves this key. Times are milliseconds since the Unix epoch. */
export interface ExpectedHost {
  /** Encoded; also the key in the bucket, so that a peel id is expected with one key. */
  peelId: string;
  /** `U…` */
  publicKey: string;
  labels?: Labels;
  /** The operator who expects it. */
  by: string;
  at: number;
  endsAt: number;
  /** The enrollment that took it. It counts when that enrollment was decided by this entry. */
  taken?: { enrollment: string; at: number };
}

const bytes = v.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === 32);
const short = v.pipe(v.string(), v.minLength(1), v.maxLength(256));

const stored = v.strictObject({
  v: v.literal(1),
  peel_id: v.pipe(v.string(), v.check(isPeelId)),
  public_key: v.pipe(
    v.string(),
    v.check((text) => decodePublicKey("user", text) !== undefined),
  ),
  labels: v.optional(labelsField),
  by: short,
  at: instant,
  ends_at: instant,
  taken_by: v.optional(short),
  taken_at: v.optional(instant),
  voucher: bytes,
});

/** The stored form, with the MAC of a master: who controls the bus can let no host in. */
export function encodeExpected(mac: RecordMac, host: ExpectedHost): Uint8Array {
  return encode({ ...fieldsOf(host), voucher: mac("expected", contentOf(host)) });
}

/**
 * Reads a stored entry.
 *
 * @returns `undefined` when no master vouches for it under this key
 * @throws Error when it is malformed
 */
export function decodeExpected(mac: RecordMac, key: string, value: Uint8Array): ExpectedHost | undefined {
  const found = v.parse(stored, decode(value));
  const { taken_by: enrollment, taken_at: takenAt } = found;
  const host: ExpectedHost = {
    peelId: found.peel_id,
    publicKey: found.public_key,
    ...defined({ labels: found.labels }),
    by: found.by,
    at: found.at,
    endsAt: found.ends_at,
    ...(enrollment === undefined || takenAt === undefined ? {} : { taken: { enrollment, at: takenAt } }),
  };
  if (host.peelId !== key) return undefined;
  const isGenuine = macsFor(mac, key).some((one) =>
    isEqualMac(one("expected", contentOf(host)), found.voucher),
  );
  return isGenuine ? host : undefined;
}

/**
 * When a stored entry ends by its own account, without a proof: enough to remove it, and much faster than to read it.
 *
 * @returns milliseconds since the Unix epoch; 0 for what is not an entry
 */
export function claimedEnd(value: Uint8Array): number {
  try {
    const { ends_at } = Object(decode(value)) as Record<string, unknown>;
    return (typeof ends_at === "string" && Date.parse(ends_at)) || 0;
  } catch {
    return 0;
  }
}

function fieldsOf({ peelId, publicKey, labels, by, at, endsAt, taken }: ExpectedHost) {
  return {
    v: 1,
    peel_id: peelId,
    public_key: publicKey,
    ...defined({ labels }),
    by,
    at: rfc3339(at),
    ends_at: rfc3339(endsAt),
    ...(taken === undefined ? {} : { taken_by: taken.enrollment, taken_at: rfc3339(taken.at) }),
  };
}

/** Every field, in a fixed order. */
function contentOf(host: ExpectedHost): unknown {
  const { peelId, publicKey, labels = {}, by, at, endsAt, taken } = host;
  const sorted = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
  return [1, peelId, publicKey, sorted, by, at, endsAt, taken?.enrollment ?? null, taken?.at ?? null];
}
