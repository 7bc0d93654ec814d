import { createHmac, hkdfSync } from "node:crypto";
import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import type { CurveKey } from "../../identity/curve.ts";
import { type KeyPair, verifySignature } from "../../identity/nkey.ts";
import { openSealed, seal } from "../../identity/seal.ts";

// Settings travel sealed to the peel, so that nobody on the way reads them, and signed by a master, so that
// nobody on the way makes them: anybody can seal to a public key. The signature binds the peel, its curve
// key and a version that only grows, so that neither another peel's nor older settings pass.

/** Settings of a peel: plain data by name, without binaries. */
export type Settings = Readonly<Record<string, Plain>>;

const domain = "svc/settings/v1";

const envelopeForm = v.object({
  v: v.literal(1),
  peel_id: v.string(),
  version: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  sealed: v.instance(Uint8Array),
  digest: v.instance(Uint8Array),
  key: v.string(),
  signature: v.instance(Uint8Array),
});

interface Envelope extends EnvelopeHead {
  v: 1;
  peel_id: string;
  sealed: Uint8Array;
  /** The command key, `U…`. */
  key: string;
  signature: Uint8Array;
}

/** What a master knows of settings that it does not need to open. */
export interface EnvelopeHead {
  version: number;
  /** Tells whether other settings are the same; only masters can compute it. */
  digest: Uint8Array;
}

/** Makes envelopes; every master of a fleet makes the same digests. */
export interface EnvelopeMaker {
  /** The keyed digest of settings for this peel and this curve key. */
  digest(settings: Uint8Array, to: Recipient): Uint8Array;
  /** @throws SvcError `bad_request` when the curve key is none */
  make(settings: Uint8Array, to: Recipient, head: EnvelopeHead): Uint8Array;
}

export interface Recipient {
  /** Encoded peel id. */
  peelId: string;
  /** `X…` */
  curvePublicKey: string;
}

/** Settings as they are sealed. */
export function encodeSettings(settings: Settings): Uint8Array {
  return encode(settings);
}

/** @param signer the command key, which all masters have */
export function createEnvelopeMaker(signer: KeyPair, random: Random): EnvelopeMaker {
  const digestKey = new Uint8Array(hkdfSync("sha256", signer.seed, "", "svc/settings-digest/v1", 32));
  return {
    // With a key: a plain digest would let anybody who sees it try out what settings may say.
    digest: (settings, { peelId, curvePublicKey }) =>
      createHmac("sha256", digestKey).update(`${peelId}\0${curvePublicKey}\0`).update(settings).digest(),
    make(settings, to, head) {
      const sealed = seal(settings, to.curvePublicKey, contextOf(to.peelId), random);
      const signed = { ...head, peelId: to.peelId, sealedDigest: sha256(sealed) };
      return encode({
        v: 1,
        peel_id: to.peelId,
        ...head,
        sealed,
        key: signer.publicKey,
        signature: signer.sign(signedBytes(signed, to.curvePublicKey)),
      } satisfies Envelope);
    },
  };
}

/** What an envelope says of itself, without the settings: small, and not checked yet. */
export interface Claim extends EnvelopeHead {
  peelId: string;
  sealedDigest: Uint8Array;
  key: string;
  signature: Uint8Array;
}

/** @returns `undefined` when the bytes are no envelope */
export function readClaim(bytes: Uint8Array): Claim | undefined {
  const envelope = parse(bytes);
  if (envelope === undefined) return undefined;
  const { version, peel_id, key, sealed } = envelope;
  // Copies: parts of the message would keep all of it in memory.
  const digest = Uint8Array.from(envelope.digest);
  const signature = Uint8Array.from(envelope.signature);
  return { version, digest, peelId: peel_id, sealedDigest: sha256(sealed), key, signature };
}

/** Whether an envelope is this peel's and `signer` signed it. */
export function isGenuine(claim: Claim, to: Recipient, signer: string): boolean {
  if (claim.peelId !== to.peelId || claim.key !== signer) return false;
  return verifySignature("user", signer, signedBytes(claim, to.curvePublicKey), claim.signature);
}

/**
 * Checks and opens settings that a peel received.
 *
 * @param trust the command keys this peel obeys, and the highest version it has seen
 * @throws SvcError `forbidden` when they are not signed for this peel, or older than what it has;
 *   `bad_request` when they cannot be opened
 */
export function openEnvelope(
  bytes: Uint8Array,
  peelId: string,
  own: CurveKey,
  trust: { keys: readonly string[]; newest: number },
): { version: number; settings: Settings } {
  const envelope = parse(bytes);
  const claim = readClaim(bytes);
  if (envelope === undefined || claim === undefined) throw new SvcError("bad_request", "malformed settings");
  const refused = (reason: string) => new SvcError("forbidden", `settings refused: ${reason}`);
  if (claim.peelId !== peelId) throw refused("they are another peel's");
  if (!trust.keys.includes(claim.key)) throw refused("signed by an unknown command key");
  if (!isGenuine(claim, { peelId, curvePublicKey: own.publicKey }, claim.key)) {
    throw refused("the signature is wrong");
  }
  if (claim.version < trust.newest) throw refused("they are older than those in force");
  const settings = decode(openSealed(envelope.sealed, own, contextOf(peelId)));
  if (!isSettings(settings)) throw new SvcError("bad_request", "malformed settings");
  return { version: claim.version, settings };
}

/** Whether a value is a map that can be the settings of a peel. */
export function isSettings(value: unknown): value is { [name: string]: Plain } {
  const isObject = typeof value === "object" && value !== null;
  return isObject && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function parse(bytes: Uint8Array): Envelope | undefined {
  try {
    const parsed = v.safeParse(envelopeForm, decode(bytes));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}

/** What a box of settings is for; the version is not part of it, as the signature has it. */
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
