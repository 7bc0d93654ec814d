import { existsSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { createFileAtomic, publicMode, readTextIfPresent, secretMode } from "../../base/file.ts";
import type { Random } from "../../base/id.ts";
import { writing } from "../../base/new-files.ts";
import { removeLeftovers } from "../../base/remove-leftovers.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../../identity/mod.ts";

/**
 * Makes the recovery key of a fleet that was created before there were any: `recovery.seed` and `recovery.pub` in
 * its auth directory. What an interrupted call left is completed.
 *
 * @returns the public key, and the paths of both files
 * @throws SvcError `conflict` when the fleet has one, `bad_request` when `recovery.seed` is damaged, `storage`
 */
export function makeRecoveryKey(
  authDir: string,
  random: Random,
): { publicKey: string; seed: string; pub: string } {
  const paths = { seed: join(authDir, "recovery.seed"), pub: join(authDir, "recovery.pub") };
  // One of them may hold the seed, which is going to be taken offline.
  writing(paths.seed, () => removeLeftovers(Object.values(paths)));
  if (existsSync(paths.pub)) {
    throw new SvcError(
      "conflict",
      `${paths.pub} exists: peels keep the first recovery key that they learn, and only svc fleet succeed --new-recovery replaces it`,
    );
  }
  // The seed first: a public key that nobody can sign for would be kept by every peel.
  const key = readSeed(paths.seed) ?? newKeyPair("user", random);
  if (!existsSync(paths.seed)) {
    writing(paths.seed, () => createFileAtomic(paths.seed, `${key.seed}\n`, secretMode));
  }
  writing(paths.pub, () => createFileAtomic(paths.pub, `${key.publicKey}\n`, publicMode));
  return { publicKey: key.publicKey, ...paths };
}

function readSeed(path: string): KeyPair | undefined {
  const text = readTextIfPresent(path);
  if (text === undefined) return undefined;
  try {
    return keyPairFromSeed("user", text);
  } catch (cause) {
    throw new SvcError("bad_request", `${path} does not contain the seed of a recovery key: remove it`, {
      cause,
    });
  }
}
