import { readTextIfPresent } from "../../base/files/file.ts";
import { parseCredentials, readClaims } from "../../identity/mod.ts";

/**
 * Expiry of the bus credentials, milliseconds since the Unix epoch; `undefined` when they do not exist,
 * cannot be read, or do not expire.
 *
 * @param path of the `.creds` file
 */
export function credentialsExpiry(path: string): number | undefined {
  try {
    const text = readTextIfPresent(path);
    const { exp } = text === undefined ? {} : readClaims(parseCredentials(text).jwt);
    return exp === undefined ? undefined : exp * 1000;
  } catch {
    return undefined;
  }
}
