import { SvcError } from "../base/errors.ts";
import { isEnvironmentName } from "../base/names/names.ts";
import { type RecordOf, record } from "../base/record.ts";
import { bytes, exactTime, optional, textOf } from "../base/record-kinds.ts";
import { decodePublicKey, type KeyPair, verifySignature } from "../identity/mod.ts";
import { snapshotDigest } from "./content.ts";
import { operatorNameField, recordVersion } from "./operator-record.ts";

/** One with the longest environment takes less. */
const maxReleaseBytes = 2_048;

const isPublicKey = (kind: "account" | "user") => (text: string) => decodePublicKey(kind, text) !== undefined;

/** The fields that are signed, in the order in which they are signed and stored. */
const fields = {
  /**
   * Public key of the account of the peels. It names the fleet: each peel finds it in its credentials, so that the
   * release counts in no other fleet.
   */
  fleet: textOf(isPublicKey("account"), "the public key of an account, A…"),
  environment: textOf(isEnvironmentName, "the name of an environment"),
  /** Digest of the files that are released, hex; bytes in the message. */
  snapshot: snapshotDigest,
  /** Digest of the files that masters alone read, hex; bytes in the message. */
  tree: optional(snapshotDigest),
  /** Rises by one with each release of an environment, from 1. */
  version: recordVersion,
  /** Milliseconds since the Unix epoch. For people: the version decides which release is newer. */
  releasedAt: ["released_at", exactTime],
  /** Name of the operator who released it. */
  operator: operatorNameField,
  /** The key that signed, `U…`. */
  key: textOf(isPublicKey("user"), "the public key of a user, U…"),
} as const;
const signedFields = { ...fields, signature: bytes(64) } as const;

/** That an operator lets these files come into force as an environment of a fleet. */
export type Release = RecordOf<typeof fields>;
/** A release with the signature of the key that it names. */
export type SignedRelease = RecordOf<typeof signedFields>;

const malformed = (problem: string) => new SvcError("unauthorized", `the release is malformed: ${problem}`);
const content = record("release", fields, { version: 1 });
const signed = record("release", signedFields, {
  version: 1,
  limits: { bytes: maxReleaseBytes, elements: 64 },
  malformed: (field, problem) => malformed(field === "(root)" ? problem : `${field}: ${problem}`),
});

/** The bytes that an operator signs: the purpose, NUL, and the MessagePack of the map without the signature. */
function messageOf(release: Release): Uint8Array {
  return Buffer.concat([Buffer.from("svc/release/v1\0", "latin1"), content.encode(release)]);
}

/** Signs a release. @returns its stored form */
export function signRelease(
  release: Omit<Release, "key">,
  operator: Pick<KeyPair, "publicKey" | "sign">,
): Uint8Array {
  const named: Release = { ...release, key: operator.publicKey };
  return signed.encode({ ...named, signature: operator.sign(messageOf(named)) });
}

/**
 * Reads untrusted bytes, without judging the signature. Bytes that `signRelease` would not write are refused.
 *
 * @throws SvcError `unauthorized` naming the field
 */
export function openRelease(bytes: Uint8Array): SignedRelease {
  const release = decoded(bytes);
  if (!Buffer.from(signed.encode(release)).equals(bytes)) throw malformed("it is not in canonical form");
  return release;
}

function decoded(bytes: Uint8Array): SignedRelease {
  try {
    return signed.decode(bytes);
  } catch (cause) {
    if (cause instanceof SvcError && cause.kind === "unauthorized") throw cause;
    throw new SvcError("unauthorized", "the release is malformed: it must be a MessagePack map", { cause });
  }
}

/** Whether the key that a release names signed exactly this. Whether that key may is another question. */
export function isSignedRelease(release: SignedRelease): boolean {
  return verifySignature("user", release.key, messageOf(release), release.signature);
}
