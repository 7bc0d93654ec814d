import { existsSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { createFileAtomic, publicMode, readTextIfPresent, secretMode } from "../../base/file.ts";
import type { Random } from "../../base/id.ts";
import { isPeelId, peelIdFromConfig } from "../../base/peel-id.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../../identity/mod.ts";

/** The files of a peel's identity. The auth directory is fixed, inside the data directory. */
export interface IdentityFiles {
  nodeId: string;
  seed: string;
  credentials: string;
  commandKeys: string;
  anchor: string;
}

export function identityFiles(authDir: string, peelId: string): IdentityFiles {
  return {
    nodeId: join(authDir, "node-id"),
    seed: join(authDir, `${peelId}.seed`),
    credentials: join(authDir, `${peelId}.creds`),
    commandKeys: join(authDir, `${peelId}.command-keys`),
    anchor: join(authDir, "enroll-ca.crt"),
  };
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
