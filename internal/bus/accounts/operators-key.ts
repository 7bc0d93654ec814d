import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { readTextIfPresent, reasonOf } from "../../base/files/file.ts";
import { type KeyPair, keyPairFromSeed } from "../../identity/mod.ts";

/** The key of the masters' account that signs the JWTs of operators, in the auth directory of a master. */
export const operatorsSeedFile = "masters-operators.seed";

/**
 * Reads the signing key of operators.
 *
 * @returns `undefined` where it is missing
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
