import { SvcError } from "../base/errors.ts";
import { decodePublicKey } from "./nkey.ts";

// Decoding a key finds its role, its checksum and the points of small order, on peels too. Whether the bytes are a
// point of the curve at all takes arithmetic: only masters do it, once for each key, before they store it.

/**
 * Checks that keys of peers are points: in canonical encoding, on the curve, and not of small order. Without it, a
 * master would store keys for which implementations disagree about what they sign, or with which nothing can be
 * signed or sealed.
 *
 * @param keys in NATS notation, `U…` or `X…`, by the names of their fields
 * @throws SvcError `bad_request` naming the field
 */
export async function assertPeerKeys(keys: Readonly<Record<string, string>>): Promise<void> {
  // Loaded with the first key: a master that only serves members never needs it.
  const { ed25519 } = await import("@noble/curves/ed25519.js");
  const { Point } = ed25519;
  const pointOf = (key: string) => {
    const isCurve = key.startsWith("X");
    const raw = decodePublicKey(isCurve ? "curve" : "user", key);
    if (raw === undefined) return undefined;
    return Point.fromBytes(isCurve ? edwardsOf(raw, Point.Fp) : raw);
  };
  for (const [field, key] of Object.entries(keys)) {
    if (!isSound(() => pointOf(key))) {
      throw new SvcError(
        "bad_request",
        `${field} is not a usable key: not a canonical point of full order on its curve`,
      );
    }
  }
}

function isSound(point: () => { isSmallOrder(): boolean } | undefined): boolean {
  try {
    return point()?.isSmallOrder() === false;
  } catch {
    return false;
  }
}

interface Field {
  readonly ONE: bigint;
  fromBytes(bytes: Uint8Array): bigint;
  toBytes(value: bigint): Uint8Array;
  add(one: bigint, other: bigint): bigint;
  sub(one: bigint, other: bigint): bigint;
  div(one: bigint, other: bigint): bigint;
}

/** The Ed25519 key of an X25519 key, with either sign (RFC 7748, section 4.1): y = (u - 1) / (u + 1). */
function edwardsOf(raw: Uint8Array, field: Field): Uint8Array {
  const u = field.fromBytes(raw);
  return field.toBytes(field.div(field.sub(u, field.ONE), field.add(u, field.ONE)));
}
