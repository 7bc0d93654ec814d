import { isIP } from "node:net";
import { quote } from "../cut.ts";
import { SvcError } from "../errors.ts";

/** One subject alternative name of a certificate. */
export interface SubjectName {
  type: "dns" | "ip";
  value: string;
}

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Reads a DNS name for a certificate: lower-case ASCII labels. `*` is allowed only as the whole first label.
 *
 * @throws SvcError `bad_request` naming the text
 */
export function parseDnsName(text: string): SubjectName {
  const value = text.toLowerCase();
  const labels = value.split(".");
  const rest = labels[0] === "*" && labels.length > 2 ? labels.slice(1) : labels;
  const last = labels.at(-1) ?? "";
  // A last label of digits is a mistyped address, not a name (RFC 3696 section 2).
  if (value.length > 253 || !rest.every((part) => label.test(part)) || /^\d+$/.test(last)) {
    throw new SvcError("bad_request", `${quote(text)} is not a DNS name, such as bus.example.com`);
  }
  return { type: "dns", value };
}

/**
 * Reads an IPv4 or IPv6 address for a certificate.
 *
 * @throws SvcError `bad_request` naming the text
 */
export function parseIpAddress(text: string): SubjectName {
  // A zone is local to an interface of one host; a certificate cannot contain it.
  if (isIP(text) === 0 || text.includes("%")) {
    throw new SvcError("bad_request", `${quote(text)} is not an IP address, such as 10.0.0.5 or 2001:db8::5`);
  }
  return { type: "ip", value: text.toLowerCase() };
}

/** Reads a mixed list of DNS names and IP addresses, and removes duplicates. */
export function parseNames(texts: readonly string[]): SubjectName[] {
  const names = texts.map((text) => (isIP(text) === 0 ? parseDnsName(text) : parseIpAddress(text)));
  return [...new Map(names.map((name) => [`${name.type} ${name.value}`, name])).values()];
}
