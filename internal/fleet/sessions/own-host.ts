import { isIP } from "node:net";
import { attempt } from "../../base/errors.ts";

/** Under which names a master is reached. */
export interface OwnNames {
  /** `enroll.advertise_urls`: name and port count. */
  urls: readonly string[];
  /** Names and addresses of the certificate, also such as `*.example.com`. */
  certificate: readonly string[];
  /** The address of the listener; empty for every address of the host. */
  address: string;
}

/**
 * Whether a `Host` header names this master. A page of a stranger whose name was changed to the address of a master is
 * of one origin with it for a browser, and would use its session.
 */
export function isOwnHost(header: string | null, { urls, certificate, address }: OwnNames): boolean {
  const requested = urlOf(`https://${header ?? ""}`);
  if (
    header === null ||
    requested === undefined ||
    requested.host.toLowerCase() !== withoutDefaultPort(header)
  ) {
    return false;
  }
  if (urls.some((url) => urlOf(url)?.host === requested.host)) return true;
  const name = withoutBrackets(requested.hostname);
  if (isIP(name) > 0 && (isUnspecified(address) || name === address)) return true;
  return certificate.some((pattern) => matches(pattern.toLowerCase(), name));
}

const urlOf = (text: string) => attempt(() => new URL(text));
const withoutBrackets = (name: string) => name.replace(/^\[(.*)\]$/, "$1");
const withoutDefaultPort = (header: string) => header.toLowerCase().replace(/:443$/, "");
const isUnspecified = (address: string) => ["", "0.0.0.0", "::"].includes(address);

/** RFC 6125: a wildcard is one whole label, the first. */
function matches(pattern: string, name: string): boolean {
  if (!pattern.startsWith("*.")) return canonical(pattern) === name;
  const [, rest] = /^[^.]+(\..+)$/.exec(name) ?? [];
  return isIP(name) === 0 && rest === pattern.slice(1);
}

/** An address is written in many ways: as URLs write it. */
function canonical(name: string): string {
  if (isIP(name) !== 6) return name;
  return withoutBrackets(urlOf(`https://[${name}]`)?.hostname ?? name);
}
