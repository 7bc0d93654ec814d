import { decodePublicKey } from "../../identity/mod.ts";

/** The valid public keys of a list from a master or a file, each once. */
export function validKeys(keys: readonly string[]): string[] {
  return [...new Set(keys.filter((key) => decodePublicKey("user", key) !== undefined))];
}
