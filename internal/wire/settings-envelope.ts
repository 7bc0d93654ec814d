import { createHmac, hkdfSync } from "node:crypto";
import * as v from "valibot";
import { SvcError } from "../base/errors.ts";
import type { Random } from "../base/id.ts";
import { decode, encode, type Plain } from "../base/msgpack.ts";
import { isMap } from "../base/plain-map.ts";
import { record } from "../base/record.ts";
import { blob } from "../base/record-kinds.ts";
import { sha256 } from "../base/sha256.ts";
import {
  acceptedBy,
  type CurveKey,
  type KeyPair,
  openSealed,
  seal,
  verifySignature,
} from "../identity/mod.ts";

// Settings are sealed to the peel, so that only the peel can read them, and signed by a master, so that only
// masters can create them: anyone can seal to a public key. The signature covers the peel, its curve key and
// a version that only grows, so that neither settings of another peel nor older ones are accepted.

/** Settings of a peel: plain data by name, without binaries. */
export type Settings = Readonly<Record<string, Plain>>;

const domain = "svc/settings/v1";

const stored = record(
  "envelope of settings",
  {
    peelId: ["peel_id", v.string()],
    version: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
    digest: blob,
    sealed: blob,
    /** The command key, `U…`. */
    key: v.string(),
    signature: blob,
  },
  { version: 1, isOpen: true },
);

/** The part of an envelope that is readable without opening it. */
export interface EnvelopeHead {
  version: number;
  /** A MAC of the settings, to compare them with others; only masters can compute it. */
  digest: Uint8Array;
}

/** Creates envelopes; all masters of a fleet compute the same digests. */
export interface EnvelopeMaker {
  /**
   * The MAC of settings for this peel and curve key.
   *
   * @param signer public key of the command key that signed the envelope; the one in use unless given
   */
  digest(settings: Uint8Array, to: Recipient, signer?: string): Uint8Array;
  /** Whether this is a command key whose envelopes count. */
  counts(signer: string): boolean;
  /** @throws SvcError `bad_request` when the curve key is invalid */
  make(settings: Uint8Array, to: Recipient, head: EnvelopeHead): Uint8Array;
}

export interface Recipient {
  /** Encoded peel id. */
  peelId: string;
  /** `X…` */
  curvePublicKey: string;
}

/** What the fleet says of a peel, by name. */
export type Labels = Readonly<Record<string, string>>;

/** Labels are sealed under a name that no setting can have. */
const labelsKey = "svc:labels";
/** The same for the places of values that are secret, and whose names do not show it. */
const secretsKey = "svc:secrets";
/** Names that no setting can have. */
export const reservedNames: ReadonlySet<string> = new Set([labelsKey, secretsKey]);

/** What a peel gets besides its settings. */
export interface Beside {
  labels?: Labels;
  /** The places of secret values, each as the names that lead to it; all values below them are secret. */
  secrets?: readonly (readonly string[])[];
}

/** Encodes settings for sealing, with what goes with them. */
export function encodeSettings(settings: Settings, { labels = {}, secrets = [] }: Beside = {}): Uint8Array {
  const names = Object.keys(labels).sort();
  // The same labels give the same bytes.
  const sorted = Object.fromEntries(names.map((name) => [name, labels[name] ?? ""]));
  return encode({
    ...settings,
    ...(names.length === 0 ? {} : { [labelsKey]: sorted }),
    ...(secrets.length === 0 ? {} : { [secretsKey]: secrets.map((path) => [...path]) }),
  });
}

/** Settings, labels and the places of secrets of what a peel opened. */
export function separate(opened: Settings): { settings: Settings } & Required<Beside> {
  const { [labelsKey]: labels, [secretsKey]: secrets, ...settings } = opened;
  return {
    settings,
    labels: isTexts(labels) ? labels : {},
    secrets: Array.isArray(secrets) ? secrets.filter(isPath) : [],
  };
}

const isPath = (value: Plain): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string");

function isTexts(value: Plain | undefined): value is { [name: string]: string } {
  return isSettings(value) && Object.values(value).every((each) => typeof each === "string");
}

/** @param signer the command key, which all masters share */
export function createEnvelopeMaker(signer: KeyPair, random: Random): EnvelopeMaker {
  const digestKeys = new Map<string, Uint8Array>();
  const accepted = (key: string) => acceptedBy(signer).find(({ publicKey }) => publicKey === key);
  const digestKeyOf = (key: string): Uint8Array => {
    const known = digestKeys.get(key);
    if (known !== undefined) return known;
    const pair = accepted(key) ?? signer;
    const made = new Uint8Array(hkdfSync("sha256", pair.seed, "", "svc/settings-digest/v1", 32));
    digestKeys.set(pair.publicKey, made);
    return made;
  };
  return {
    // Keyed, because a plain digest would allow guessing the settings.
    digest: (settings, { peelId, curvePublicKey }, key = signer.publicKey) =>
      createHmac("sha256", digestKeyOf(key))
        .update(`${peelId}\0${curvePublicKey}\0`)
        .update(settings)
        .digest(),
    counts: (key) => accepted(key) !== undefined,
    make(settings, to, head) {
      const sealed = seal(settings, to.curvePublicKey, contextOf(to.peelId), random);
      const signed = { ...head, peelId: to.peelId, sealedDigest: sha256(sealed) };
      return stored.encode({
        ...{ peelId: to.peelId, ...head, sealed, key: signer.publicKey },
        signature: signer.sign(signedBytes(signed, to.curvePublicKey)),
      });
    },
  };
}

/** The claims of an envelope, without the settings; small, and not verified yet. */
export interface Claim extends EnvelopeHead {
  peelId: string;
  sealedDigest: Uint8Array;
  key: string;
  signature: Uint8Array;
}

/** @returns `undefined` when the bytes are not an envelope */
export function readClaim(bytes: Uint8Array): Claim | undefined {
  const envelope = stored.decodeOrNothing(bytes);
  if (envelope === undefined) return undefined;
  const { version, peelId, key, sealed } = envelope;
  // Copy the bytes, because views would keep the whole message in memory.
  const digest = new Uint8Array(envelope.digest);
  const signature = new Uint8Array(envelope.signature);
  return { version, digest, peelId, sealedDigest: sha256(sealed), key, signature };
}

/**
 * The version that an envelope claims, which is not verified here; `undefined` when the bytes are not an envelope for
 * this peel. Two peels can have settings of the same version.
 */
export function readVersion(bytes: Uint8Array, peelId: string): number | undefined {
  const envelope = stored.decodeOrNothing(bytes);
  return envelope?.peelId === peelId ? envelope.version : undefined;
}

/** Whether an envelope is for this peel and signed by `signer`. */
export function isGenuine(claim: Claim, to: Recipient, signer: string): boolean {
  if (claim.peelId !== to.peelId || claim.key !== signer) return false;
  return verifySignature("user", signer, signedBytes(claim, to.curvePublicKey), claim.signature);
}

/**
 * Verifies and opens settings received by a peel.
 *
 * @param trust the trusted command keys, and the highest version seen
 * @throws SvcError `forbidden` when they are not signed for this peel, or older than the current ones;
 *   `bad_request` when they cannot be opened
 */
export function openEnvelope(
  bytes: Uint8Array,
  peelId: string,
  own: CurveKey,
  trust: { keys: readonly string[]; newest: number },
): { version: number; settings: Settings } {
  const envelope = stored.decodeOrNothing(bytes);
  const claim = readClaim(bytes);
  if (envelope === undefined || claim === undefined) throw new SvcError("bad_request", "malformed settings");
  const refused = (reason: string) => new SvcError("forbidden", `settings refused: ${reason}`);
  if (claim.peelId !== peelId) throw refused("they are for another peel");
  if (!trust.keys.includes(claim.key)) throw refused("signed by an unknown command key");
  if (!isGenuine(claim, { peelId, curvePublicKey: own.publicKey }, claim.key)) {
    throw refused("the signature is wrong");
  }
  if (claim.version < trust.newest) throw refused("they are older than those in force");
  const settings = decode(openSealed(envelope.sealed, own, contextOf(peelId)));
  if (!isSettings(settings)) throw new SvcError("bad_request", "malformed settings");
  return { version: claim.version, settings };
}

/** Whether a value is a valid settings map. */
export function isSettings(value: unknown): value is { [name: string]: Plain } {
  return isMap(value);
}

/** The context of a sealed box. Does not include the version, which the signature covers. */
function contextOf(peelId: string): Uint8Array {
  return Buffer.from(`${domain}\0settings\0${peelId}`, "latin1");
}

function signedBytes(
  claim: Pick<Claim, "peelId" | "version" | "digest" | "sealedDigest">,
  curvePublicKey: string,
): Uint8Array {
  const head = [domain, claim.peelId, curvePublicKey, claim.version, ""].join("\0");
  return Buffer.concat([Buffer.from(head, "latin1"), claim.sealedDigest, sha256(claim.digest)]);
}
