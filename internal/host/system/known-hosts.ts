import { createHash } from "node:crypto";
import { readHostPattern } from "../../base/names/host-pattern.ts";
import { canonicalAddress } from "../../base/names/ip-address.ts";

/** A key of a host, as known_hosts has it. */
export interface HostKey {
  /** `ssh-ed25519` */
  type: string;
  /** Base64. */
  key: string;
}

interface Line {
  names: string;
  key: HostKey;
}

/**
 * The name by which SSH finds a host in a file of known hosts: `[host]:2222` unless the port is 22. SSH never finds
 * capitals, or an address in another spelling than its own.
 */
export function knownName(host: string, port: number | undefined): string {
  const name = canonicalAddress(host).toLowerCase();
  return port === undefined || port === 22 ? name : `[${name}]:${port}`;
}

/** The keys of a host. Lines with a mark, such as @revoked, are left out. */
export function keysOfHost(text: string, name: string): HostKey[] {
  return text.split("\n").flatMap((line) => {
    const found = readLine(line);
    return found !== undefined && namesHost(found.names, name) ? [found.key] : [];
  });
}

/** The text with this key as the only one of its type for the host. */
export function withHostKey(text: string, name: string, { type, key }: HostKey): string {
  const kept = withoutLines(text, (line) => namesHost(line.names, name) && line.key.type === type, name);
  return `${kept === "" || kept.endsWith("\n") ? kept : `${kept}\n`}${name} ${type} ${key}\n`;
}

/** The text without any key of the host. */
export function withoutHostKeys(text: string, name: string): string {
  return withoutLines(text, (line) => namesHost(line.names, name), name);
}

/** Whether a fingerprint is that of a key: `SHA256:…` as ssh-keygen writes it, or hexadecimal with MD5 or SHA256. */
export function hasFingerprint({ key }: HostKey, fingerprint: string): boolean {
  const bytes = Buffer.from(key, "base64");
  const base64 = (text: string) => text.replace(/^SHA256:/, "").replace(/=+$/, "");
  const hexadecimal = fingerprint.replace(/^MD5:/i, "").replaceAll(":", "").toLowerCase();
  const sha256 = createHash("sha256").update(bytes);
  const digest = sha256.digest();
  return (
    base64(fingerprint) === base64(digest.toString("base64")) ||
    hexadecimal === digest.toString("hex") ||
    hexadecimal === createHash("md5").update(bytes).digest("hex")
  );
}

function readLine(line: string): Line | undefined {
  const [, names = "", type = "", key = ""] =
    /^([^\s#@]\S*)\s+(\S+)\s+([A-Za-z0-9+/=]+)/.exec(line.trim()) ?? [];
  return names === "" ? undefined : { names, key: { type, key } };
}

/** As SSH: names and patterns of one host are separated by commas, and a name may be hashed. */
function namesHost(names: string, name: string): boolean {
  return readHostPattern(names)?.(name) === true;
}

/** Lines that name other hosts as well keep those, and so do patterns: they exclude the host. */
function withoutLines(text: string, isUnwanted: (line: Line) => boolean, name: string): string {
  return text
    .split("\n")
    .flatMap((line) => {
      const found = readLine(line);
      if (found === undefined || !isUnwanted(found)) return [line];
      const others = found.names.split(",").filter((each) => each.startsWith("!") || !isNameOf(each, name));
      if (others.every((each) => each.startsWith("!"))) return [];
      const names = others.join(",");
      const excluded = namesHost(names, name) ? `${names},!${name}` : names;
      return [`${excluded}${line.trim().slice(found.names.length)}`];
    })
    .join("\n");
}

function isNameOf(written: string, name: string): boolean {
  return written.toLowerCase() === name || (written.startsWith("|") && namesHost(written, name));
}
