import { timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { reasonOf } from "../../../base/file.ts";
import type { Log } from "../../../base/log.ts";
import { sha256 } from "../../../base/sha256.ts";

/** One operator who may use the REST API. */
export interface TokenEntry {
  username: string;
  /** Path of the file that holds the token; read at each request, so that it rotates without a restart. */
  token_file: string;
}

/**
 * Finds whose token a request carries. All entries are compared, each in constant time.
 *
 * @param authorization value of the `Authorization` header
 * @returns the operator's name, or `undefined`
 */
export function findOperator(
  entries: readonly TokenEntry[],
  authorization: string | null,
): string | undefined {
  const presented = /^Bearer ([\x21-\x7e]{1,1024})$/i.exec(authorization ?? "")?.[1];
  // Digests are of equal lengths for the comparison, whatever the lengths of the tokens.
  const candidate = sha256(presented ?? "");
  let found: string | undefined;
  for (const entry of entries) {
    const token = readToken(entry.token_file);
    if (token === undefined) continue;
    if (timingSafeEqual(sha256(token), candidate) && presented !== undefined) found ??= entry.username;
  }
  return found;
}

/** Warns of each token file that cannot be read or that group or others can access. */
export function warnOfTokenFiles(entries: readonly TokenEntry[], log: Log): void {
  for (const { username, token_file: path } of entries) {
    try {
      if ((statSync(path).mode & 0o077) !== 0) {
        log.warn("token file is accessible by group or others; set its mode to 0600", { username, path });
      }
      if (readToken(path) === undefined) log.warn("token file is empty or unreadable", { username, path });
    } catch (cause) {
      log.warn("token file cannot be read", { username, path, reason: reasonOf(cause) });
    }
  }
}

function readToken(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
