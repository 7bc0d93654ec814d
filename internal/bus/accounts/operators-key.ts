import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { createFileAtomic, readTextIfPresent, reasonOf, secretMode } from "../../base/file.ts";
import type { Random } from "../../base/id.ts";
import { writing } from "../../base/new-files.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../../identity/mod.ts";

/** The key of the masters' account that signs the JWTs of operators, in the auth directory of a master. */
export const operatorsSeedFile = "masters-operators.seed";

/**
 * Reads the signing key of operators.
 *
 * @returns `undefined` in a fleet of an earlier version
 * @throws SvcError `bad_request` naming the file
 */
export function readOperatorsKey(authDir: string): KeyPair | undefined {
  const path = join(authDir, operatorsSeedFile);
  try {
    const text = readTextIfPresent(path);
    return text === undefined ? undefined : keyPairFromSeed("account", text);
  } catch (cause) {
    const reason = cause instanceof SvcError ? cause.message : reasonOf(cause);
    throw new SvcError("bad_request", `${path}: ${reason}`);
  }
}

/**
 * Makes the signing key of operators in a fleet that was created without one.
 *
 * @returns the path of the file
 * @throws SvcError `conflict` when there is one, `storage`
 */
export function makeOperatorsKey(authDir: string, random: Random): string {
  const path = join(authDir, operatorsSeedFile);
  writing(path, () => createFileAtomic(path, `${newKeyPair("account", random).seed}\n`, secretMode));
  return path;
}
