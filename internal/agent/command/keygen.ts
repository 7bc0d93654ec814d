import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import {
  createFileAtomic,
  makeDirectory,
  readTextIfPresent,
  reasonOf,
  secretMode,
} from "../../base/files/file.ts";
import type { Random } from "../../base/id.ts";
import { displayPeelId, peelIdFromConfig } from "../../base/names/peel-id.ts";
import { keyFingerprint, keyPairFromSeed, newKeyPair } from "../../identity/mod.ts";
import { identityFiles, knownPeelId, resolvePeelId } from "../identity/mod.ts";

export interface KeygenOptions {
  /** The data directory of the peel. */
  dataDir: string;
  /** The configured id; empty for the host name. */
  configured: string;
  /** The id that was asked for, with dots, where none is configured. */
  id?: string;
  hostname: string;
  random: Random;
}

/** The public half of a new key. */
export interface NewKey {
  /** Encoded. */
  peelId: string;
  publicKey: string;
  fingerprint: string;
  /** Where the key is. */
  file: string;
}

/**
 * Makes the key of this host where the daemon looks for it. The id of the host name is pinned with it, so that a host
 * that is renamed before its first start stays the one that is expected.
 *
 * @throws SvcError `conflict` when the host has a key or credentials already; `forbidden` or `bad_request` for a
 *   directory that cannot be written to
 */
export function makeKey({ dataDir, configured, id, hostname, random }: KeygenOptions): NewKey {
  const authDir = join(dataDir, "auth");
  if (id !== undefined && configured !== "" && configured !== id) {
    throw new SvcError("usage", `--id: the configuration of this peel has the id ${configured}`);
  }
  // An id that is asked for is pinned like the name of a host.
  const identity = { configured, hostname: id ?? hostname, authDir };
  // First, so that nothing is written for an id that is not valid.
  const known = knownPeelId(identity);
  if (id !== undefined && known !== peelIdFromConfig(id)) {
    throw new SvcError(
      "conflict",
      `${join(authDir, "node-id")} has the id ${displayPeelId(known)}: leave out --id`,
    );
  }
  const files = identityFiles(authDir, known);
  for (const path of [files.seed, files.credentials, files.newSeed]) {
    if (existsSync(path)) throw existing(path, files.seed);
  }
  try {
    makeDirectory(authDir, 0o700);
    const peelId = resolvePeelId(identity);
    const key = newKeyPair("user", random);
    createFileAtomic(files.seed, `${key.seed}\n`, secretMode);
    const { publicKey } = key;
    return { peelId, publicKey, fingerprint: keyFingerprint(publicKey), file: files.seed };
  } catch (thrown) {
    if (thrown instanceof SvcError) throw thrown;
    throw new SvcError(
      "forbidden",
      `cannot write to ${authDir}: ${reasonOf(thrown)}: run it as the user of the peel`,
    );
  }
}

/** The public key helps who expects this host; a damaged file has none. */
function existing(path: string, seedFile: string): SvcError {
  let known = "";
  try {
    const { publicKey } = keyPairFromSeed("user", readTextIfPresent(seedFile) ?? "");
    known = ` (its public key is ${publicKey})`;
  } catch {
    // The peel says what is wrong with it.
  }
  return new SvcError(
    "conflict",
    `${path} exists, and is not overwritten${known}: to make another key, stop the peel, revoke its enrollment and delete ${dirname(path)} first`,
  );
}
