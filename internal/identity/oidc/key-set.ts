import { createLocalJWKSet } from "jose";
import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { parseStrictJson } from "../../base/yaml/strict-json.ts";

const maxKeys = 64;
/** An RSA key of 8,192 bits. */
const maxField = 1_400;

const field = v.pipe(v.string(), v.maxLength(maxField));
const isBase64Url = (text: string) => /^[A-Za-z0-9_-]+$/.test(text);
const bytes = v.pipe(field, v.check(isBase64Url));
const shared = {
  kid: v.exactOptional(field),
  use: v.exactOptional(field),
  alg: v.exactOptional(field),
  key_ops: v.exactOptional(v.pipe(v.array(field), v.maxLength(8))),
};
/** The public part of what these algorithms can use; every other field of a key is dropped. */
const key = v.variant("kty", [
  // A public exponent is 3 to 65537 in practice; a long one makes each verification slow.
  v.object({ kty: v.literal("RSA"), n: bytes, e: v.pipe(bytes, v.maxLength(8)), ...shared }),
  v.object({ kty: v.literal("EC"), crv: field, x: bytes, y: bytes, ...shared }),
  v.object({ kty: v.literal("OKP"), crv: field, x: bytes, ...shared }),
]);
const keySet = v.object({ keys: v.pipe(v.array(v.unknown()), v.maxLength(maxKeys)) });

/** A public key of a provider. */
export type PublicKey = v.InferOutput<typeof key>;

/**
 * Reads the keys of a provider. Keys that no accepted algorithm can use are left out.
 *
 * @throws SvcError `unavailable` when it is not a set of keys, or when none can be used
 */
export function parseKeySet(value: unknown): PublicKey[] {
  const set = v.safeParse(keySet, value);
  if (!set.success) throw new SvcError("unavailable", `not a set of at most ${maxKeys} keys`);
  const keys = set.output.keys.flatMap((one) => {
    const parsed = v.safeParse(key, one);
    return parsed.success ? [parsed.output] : [];
  });
  if (keys.length === 0) throw new SvcError("unavailable", "a set without a key for RS256, ES256 or EdDSA");
  return keys;
}

/** Reads JSON. @throws SvcError `unavailable` naming `what` */
export function parseJson(what: string, text: string): unknown {
  try {
    return parseStrictJson(text);
  } catch (cause) {
    throw new SvcError("unavailable", `${what} is not JSON`, { cause });
  }
}

/** Finds the key of a token by its header. */
export type FindKey = ReturnType<typeof createLocalJWKSet>;

/** Makes a search for these keys. */
export function finderOf(keys: readonly PublicKey[]): FindKey {
  return createLocalJWKSet({ keys: keys.map((one) => ({ ...one })) });
}
