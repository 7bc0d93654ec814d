import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { mapBounded } from "../../internal/base/map-bounded.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { peelPermissions } from "../../internal/fleet/enrollment/bus-user/permissions.ts";
import type { Enrollment } from "../../internal/fleet/enrollment/record/mod.ts";
import { insertEnrollment } from "../../internal/fleet/enrollment/store/store.ts";
import { formatCredentials } from "../../internal/identity/credentials.ts";
import { deriveCurveKey } from "../../internal/identity/curve.ts";
import { encodeJwt } from "../../internal/identity/jwt.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import { enrollmentMessage } from "../../internal/wire/enrollment-messages.ts";
import { vouchersOf } from "../harness/vouchers.ts";
import { answerSubject, requestSubject } from "./floor.ts";

// Members of a fleet without enrolling through the listener: that is another bench.

const insertsAtOnce = 64;
const challengeBytes = 32;

/** A member of a simulated fleet. */
export interface Member {
  peelId: string;
  key: KeyPair;
  /** Text of its `.creds` file. */
  credentials: string;
  /** The site whose label it has. */
  site?: string | undefined;
}

/** The key that signs users of the peels' account. */
export function peelsAccountKey(authDir: string): KeyPair {
  return keyPairFromSeed("account", readFileSync(join(authDir, "account.seed"), "utf8"));
}

/** Makes keys and credentials, with the permissions a master gives and those of the floor. */
export function mintMember(peelId: string, account: KeyPair, site?: string): Member {
  const key = newKeyPair("user", systemRandom);
  const { pub, sub } = peelPermissions(peelId, site);
  const credentials = mintUser(peelId, key, account, {
    pub: { allow: [...pub.allow, answerSubject(peelId)] },
    sub: { allow: [...sub.allow, requestSubject(peelId)] },
  });
  return { peelId, key, credentials };
}

/**
 * A member who may do anything inside the peels' account: the asking side of the floor. It must be enlisted, as
 * masters refuse users without a record.
 */
export function mintRequester(authDir: string): Member {
  const everything = { pub: { allow: [">"] }, sub: { allow: [">"] } };
  const key = newKeyPair("user", systemRandom);
  // Of each asker its own: a peel has one key, and masters end the connections of another one.
  const peelId = `floor-${key.publicKey.slice(-8).toLowerCase()}`;
  return { peelId, key, credentials: mintUser(peelId, key, peelsAccountKey(authDir), everything) };
}

function mintUser(
  name: string,
  key: KeyPair,
  account: KeyPair,
  permissions: ReturnType<typeof peelPermissions>,
): string {
  const issuedAt = Math.floor(systemClock.now() / 1000);
  const nats = { ...permissions, subs: -1, data: -1, payload: -1 };
  const jwt = encodeJwt({ type: "user", name, subject: key.publicKey, issuedAt, nats }, account);
  return formatCredentials(jwt, key.seed);
}

/** Writes the enrollment records that make these peels members, as a master does: they count as `active`. */
export async function enlist(bus: Bus, authDir: string, members: readonly Member[]): Promise<void> {
  await insertAll(bus, authDir, members.map(recordOf));
}

/** Hosts that have asked to join, and wait: what a test says of them, and keys of their own. */
export async function enlistPending(
  bus: Bus,
  authDir: string,
  hosts: readonly (Pick<Enrollment, "peelId"> & Partial<Enrollment>)[],
): Promise<Enrollment[]> {
  const records = hosts.map((host): Enrollment => {
    const now = systemClock.now();
    const key = newKeyPair("user", systemRandom);
    return {
      id: newId("enr", now, systemRandom),
      publicKey: key.publicKey,
      curvePublicKey: deriveCurveKey(key).publicKey,
      hostname: host.peelId,
      state: "pending",
      createdAt: now,
      updatedAt: now,
      ...host,
    };
  });
  await insertAll(bus, authDir, records);
  return records;
}

async function insertAll(bus: Bus, authDir: string, records: readonly Enrollment[]): Promise<void> {
  const enrollments = { ...(await openBucket(bus, "enrollments")), vouchers: vouchersOf({ authDir }) };
  await mapBounded(records, { atOnce: insertsAtOnce }, (record) =>
    insertEnrollment(enrollments, record, undefined),
  );
}

function recordOf({ peelId, key, site }: Member) {
  const now = systemClock.now();
  const credsExpiresAt = now + 365 * 24 * 3600_000;
  const curvePublicKey = deriveCurveKey(key).publicKey;
  // Masters seal settings only to a curve key that the peel signed.
  const enrollChallenge = systemRandom(challengeBytes);
  const enrollSignature = new Uint8Array(key.sign(enrollmentMessage(enrollChallenge, curvePublicKey)));
  return {
    id: newId("enr", now, systemRandom),
    peelId,
    ...(site === undefined ? {} : { labels: { site } }),
    publicKey: key.publicKey,
    ...{ curvePublicKey, enrollChallenge, enrollSignature },
    hostname: peelId,
    state: "active" as const,
    decidedBy: "simulator",
    createdAt: now,
    updatedAt: now,
    decidedAt: now,
    issuedAt: now,
    credsExpiresAt,
    activatedAt: now,
    busPublicKey: key.publicKey,
    // A revocation refuses these.
    busKeys: [{ publicKey: key.publicKey, expiresAt: credsExpiresAt }],
  };
}
