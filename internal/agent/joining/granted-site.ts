import { readTextIfPresent } from "../../base/files/file.ts";
import { isSiteName } from "../../base/names/site-name.ts";
import { siteDispatchSubject } from "../../bus/subjects/subjects.ts";
import { parseCredentials, readClaims } from "../../identity/mod.ts";

/**
 * The site of this peel, as masters wrote it into its bus credentials: the one whose commands it may receive.
 *
 * @param path of the `.creds` file
 * @returns `undefined` when it has none, or no credentials that can be read
 */
export function grantedSite(path: string): string | undefined {
  try {
    const text = readTextIfPresent(path);
    if (text === undefined) return undefined;
    const { sub } = readClaims(parseCredentials(text).jwt).nats;
    const { allow } = (sub ?? {}) as { allow?: unknown };
    for (const subject of Array.isArray(allow) ? allow : []) {
      const [, , site = ""] = String(subject).split(".");
      if (isSiteName(site) && subject === siteDispatchSubject(site, "*")) return site;
    }
  } catch {
    // Reported where the credentials are used.
  }
  return undefined;
}
