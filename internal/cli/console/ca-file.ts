import { homedir } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "../../base/files/file.ts";
import { makePrivateDirectory } from "../../base/files/new-files.ts";

/**
 * Writes the CA of the fleet where a person finds it to import it in a browser: theirs is mostly a part of an operator
 * file, which no browser reads.
 *
 * @returns its path; absent where the directory cannot be written
 */
export function writeCaFile(
  ca: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const directory = join(env.HOME || homedir(), ".svc");
  const path = join(directory, "fleet-ca.crt");
  try {
    makePrivateDirectory(directory);
    writeFileAtomic(path, ca, 0o644);
    return path;
  } catch {
    return undefined;
  }
}

/** What a browser shows that does not know the CA, and what to do. */
export const caAdvice = (path: string): string =>
  `A browser that does not know the CA of the fleet warns first (ERR_CERT_AUTHORITY_INVALID, in Firefox SEC_ERROR_UNKNOWN_ISSUER). Import ${path} into the browser as an authority for websites, and it does not.`;
