import * as v from "valibot";
import type { BoundedMap } from "../../../base/bounded-map.ts";
import type { Clock } from "../../../base/clock.ts";
import { SvcError } from "../../../base/errors.ts";
import { newId, type Random } from "../../../base/id.ts";
import { record } from "../../../base/record.ts";
import { bytes, time } from "../../../base/record-kinds.ts";
import type { Bucket, Entry } from "../../../bus/storage/mod.ts";

const lifetimeMs = 5 * 60 * 1000;
const challengeBytes = 32;

export interface Challenge {
  id: string;
  /** 32 random bytes. */
  bytes: Uint8Array;
  /** Milliseconds since the Unix epoch. */
  expiresAt: number;
}

const stored = record(
  "challenge",
  {
    peelId: ["peel_id", v.string()],
    publicKey: ["public_key", v.string()],
    bytes: ["challenge", bytes(challengeBytes)],
    expiresAt: ["expires_at", time],
  },
  { isOpen: true },
);

/** The bucket of challenges, with those that this master made a moment ago: it need not read them. */
export interface Challenges extends Bucket {
  readonly made?: BoundedMap<Pick<Entry, "value" | "revision">>;
}

/** How many challenges a master remembers: many times those of hosts that enroll at the same time. */
export const maxMadeChallenges = 1_024;

export interface ChallengeDeps {
  challenges: Challenges;
  clock: Clock;
  random: Random;
}

/** Creates a challenge for one peel ID and one key, valid for one use within five minutes. */
export async function issueChallenge(
  { challenges, clock, random }: ChallengeDeps,
  binding: { peelId: string; publicKey: string },
): Promise<Challenge> {
  const now = clock.now();
  const challenge: Challenge = {
    id: newId("chl", now, random),
    bytes: random(challengeBytes),
    expiresAt: now + lifetimeMs,
  };
  // A copy: the encoder returns a part of a larger buffer.
  const value = new Uint8Array(stored.encode({ ...binding, ...challenge }));
  const revision = await challenges.create(challenge.id, value);
  if (revision === undefined) throw new SvcError("internal", "a challenge id was used twice");
  challenges.made?.set(challenge.id, { value, revision });
  return challenge;
}

/**
 * Removes a challenge from the bucket: only the caller that removes this revision gets it. A wrong binding or
 * signature does not restore it.
 *
 * @returns the 32 challenge bytes
 * @throws SvcError `unauthorized` when it is unknown, expired or consumed, `bad_request` when it was created
 * for another peel ID or key
 */
export async function consumeChallenge(
  { challenges, clock }: Omit<ChallengeDeps, "random">,
  id: string,
  binding: Binding,
): Promise<Uint8Array> {
  const made = challenges.made?.get(id);
  challenges.made?.delete(id);
  // An id is never used twice, so that this is the revision that it has, or it has none. Where the bucket is lost, the
  // removal fails in another way than the look does.
  if (made !== undefined && (await challenges.remove(id, made.revision).catch(() => false))) {
    return bytesFor(made.value, binding, clock.now());
  }
  const entry = await challenges.get(id);
  if (entry === undefined || !(await challenges.remove(id, entry.revision))) throw failed();
  return bytesFor(entry.value, binding, clock.now());
}

/** The 32 bytes of a challenge, which stays. @throws as `consumeChallenge` does */
export async function readChallenge(
  { challenges, clock }: Omit<ChallengeDeps, "random">,
  id: string,
  binding: Binding,
): Promise<Uint8Array> {
  const entry = await challenges.get(id);
  if (entry === undefined) throw failed();
  return bytesFor(entry.value, binding, clock.now());
}

/** What a challenge was created for. */
interface Binding {
  peelId: string;
  publicKey: string;
}

function bytesFor(value: Uint8Array, binding: Binding, now: number): Uint8Array {
  const { peelId, publicKey, bytes, expiresAt } = stored.decode(value);
  if (expiresAt <= now) throw failed();
  if (peelId !== binding.peelId || publicKey !== binding.publicKey) {
    throw new SvcError("bad_request", "peel_id and public_key must be those of the nonce request");
  }
  return bytes;
}

function failed(): SvcError {
  return new SvcError("unauthorized", "challenge verification failed");
}
