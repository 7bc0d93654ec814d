import { readTextIfPresent } from "../../base/file.ts";
import { parseCredentials } from "../../identity/credentials.ts";
import { readClaims } from "../../identity/jwt.ts";

/**
 * When the bus stops accepting these credentials, milliseconds since the Unix epoch; `undefined` when there
 * are none yet, they cannot be read, or never end.
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
