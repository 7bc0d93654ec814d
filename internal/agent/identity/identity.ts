import { existsSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { createFileAtomic, publicMode, readTextIfPresent, secretMode } from "../../base/files/file.ts";
import type { Random } from "../../base/id.ts";
import { isPeelId, peelIdFromConfig } from "../../base/names/peel-id.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../../identity/mod.ts";

/** The files of a peel's identity. The auth directory is fixed, inside the data directory. */
export interface IdentityFiles {
  nodeId: string;
  /** Which copy of the disk this is, and on which machine. */
  instance: string;
  seed: string;
  credentials: string;
  commandKeys: string;
  anchor: string;
  /** The keys whose succession this peel accepts. */
  recoveryKeys: string;
  /** Names and public keys of the administrators, whose operators this peel obeys. */
  administrators: string;
  /** The greatest release of each environment that this peel took, and the newest records of operators. */
  releases: string;
  /** The last statement of succession that this peel accepted. */
  succession: string;
  /** When this peel last asked for one. */
  successionRequested: string;
  busCa: string;
  /** Id of the enrollment, one line. */
  enrollment: string;
  /** Seed of a bus key for which credentials are being requested. Kept first, so that a repeat names the same. */
  nextSeed: string;
  /** Seed that replaces `seed` as soon as the masters know it. */
  newSeed: string;
  /** Seed before the last change, until settings arrived that are sealed to the new one. */
  oldSeed: string;
}

export function identityFiles(authDir: string, peelId: string): IdentityFiles {
  return {
    nodeId: join(authDir, "node-id"),
    instance: join(authDir, "instance"),
    seed: join(authDir, `${peelId}.seed`),
    credentials: join(authDir, `${peelId}.creds`),
    commandKeys: join(authDir, `${peelId}.command-keys`),
    anchor: join(authDir, "enroll-ca.crt"),
    recoveryKeys: join(authDir, "recovery-keys"),
    administrators: join(authDir, "administrators"),
    releases: join(authDir, "releases"),
    succession: join(authDir, "succession.json"),
    successionRequested: join(authDir, "succession-asked"),
    busCa: join(authDir, "bus-ca.crt"),
    enrollment: join(authDir, `${peelId}.enrollment`),
    nextSeed: join(authDir, `${peelId}.next-seed`),
    newSeed: join(authDir, `${peelId}.new-seed`),
    oldSeed: join(authDir, `${peelId}.old-seed`),
  };
}

/** How an operator makes a peel enroll again whose enrollment has ended. */
export function enrollAgain({ credentials, enrollment }: IdentityFiles): string {
  return `delete ${credentials} and ${enrollment}, and restart the peel: it enrolls again`;
}

/**
 * The peel's id in wire form: the configured id, else the id pinned in `node-id`, else the host name. The
 * host name is then pinned, so that a renamed host stays the same peel.
 *
 * @throws SvcError `bad_request` when the derived id is `localhost` or malformed
 */
export function resolvePeelId(options: { configured: string; hostname: string; authDir: string }): string {
  const found = knownPeelId(options);
  const file = join(options.authDir, "node-id");
  if (options.configured === "" && readTextIfPresent(file) === undefined) {
    createFileAtomic(file, `${found}\n`, publicMode);
  }
  return found;
}

/** Same as `resolvePeelId`, without pinning the id. @throws as `resolvePeelId` does */
export function knownPeelId(options: { configured: string; hostname: string; authDir: string }): string {
  if (options.configured !== "") return peelIdFromConfig(options.configured);
  const file = join(options.authDir, "node-id");
  const pinned = readTextIfPresent(file)?.trim();
  if (pinned !== undefined) {
    if (!isPeelId(pinned))
      throw new SvcError("bad_request", `${file} does not contain a peel id: delete it, or set id`);
    return pinned;
  }
  if (/^localhost(\.|$)/i.test(options.hostname)) {
    throw new SvcError(
      "bad_request",
      "the host name is localhost, which cannot be a peel id: set id or --id",
    );
  }
  return peelIdFromConfig(options.hostname);
}

/** Loads the peel's Ed25519 seed, or creates it. It is reused across restarts. */
export function loadOrCreateKey(file: string, random: Random): KeyPair {
  if (!existsSync(file)) createFileAtomic(file, `${newKeyPair("user", random).seed}\n`, secretMode);
  return loadKey(file);
}

/** Loads the peel's Ed25519 seed. @throws SvcError `bad_request` when it is missing or damaged */
export function loadKey(file: string): KeyPair {
  const text = readTextIfPresent(file);
  try {
    return keyPairFromSeed("user", text ?? "");
  } catch (cause) {
    throw new SvcError(
      "bad_request",
      `${file} does not contain a user seed: restore it, or delete it to enroll this peel again`,
      { cause },
    );
  }
}
