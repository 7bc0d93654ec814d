import { createHmac, timingSafeEqual } from "node:crypto";
import { decodeBase64 } from "../base64.ts";

/** Which hosts a line of a known_hosts file is about (sshd(8), section "SSH_KNOWN_HOSTS FILE FORMAT"). */
export type HostPattern = (host: string) => boolean;

/**
 * Reads the first field of a line: names and patterns separated by commas, or one hashed name. A negated pattern
 * that matches excludes the host, whatever else matches.
 *
 * @returns `undefined` when it is malformed
 */
export function readHostPattern(text: string): HostPattern | undefined {
  if (text.startsWith("|")) return readHashed(text);
  const patterns = text.split(",");
  if (patterns.some((pattern) => pattern === "" || pattern === "!")) return undefined;
  const negated = patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
  const positive = patterns.filter((pattern) => !pattern.startsWith("!"));
  return (host) =>
    !negated.some((pattern) => isMatch(pattern, host)) && positive.some((pattern) => isMatch(pattern, host));
}

/** `|1|<salt>|<HMAC-SHA1 of the name>`, as `ssh-keygen -H` writes it. */
function readHashed(text: string): HostPattern | undefined {
  const [, salt, digest] = /^\|1\|([^|]+)\|([^|]+)$/.exec(text) ?? [];
  const key = salt === undefined ? undefined : decodeBase64(salt);
  const expected = digest === undefined ? undefined : decodeBase64(digest);
  if (key === undefined || expected?.length !== 20) return undefined;
  return (host) => timingSafeEqual(createHmac("sha1", key).update(host.toLowerCase()).digest(), expected);
}

/** `*` stands for any characters, `?` for one. Linear in the number of stars, unlike a regular expression. */
function isMatch(pattern: string, host: string): boolean {
  const [wanted, text] = [pattern.toLowerCase(), host.toLowerCase()];
  let [at, from, star, resume] = [0, 0, -1, 0];
  while (at < text.length) {
    const next = wanted[from];
    if (next === "*") {
      star = from++;
      resume = at;
    } else if (next === "?" || (next !== undefined && next === text[at])) {
      from++;
      at++;
    } else if (star >= 0) {
      from = star + 1;
      at = ++resume;
    } else return false;
  }
  while (wanted[from] === "*") from++;
  return from === wanted.length;
}
