import { isIPv4 } from "node:net";
import { SvcError } from "../errors.ts";

/**
 * Checks a bus URL: `tls://host[:port]` and nothing else (specification, "Transport rules").
 *
 * @param key the key, flag or field of the URL, for the message; the URL itself is never repeated
 * @throws SvcError `bad_request`
 */
export function assertBusUrl(key: string, url: string): void {
  const problem = busUrlProblem(url);
  if (problem !== undefined) throw new SvcError("bad_request", `${key}: ${problem}`);
}

/**
 * Checks a bus URL that is handed to other hosts. Its host must not be loopback, in any spelling,
 * unspecified or link-local. Names are checked as written, without a lookup.
 *
 * @throws SvcError `bad_request`
 */
export function assertAdvertiseUrl(key: string, url: string): void {
  const problem = advertiseUrlProblem(url);
  if (problem !== undefined) throw new SvcError("bad_request", `${key}: ${problem}`);
}

/** What is wrong with a bus URL, or `undefined`. */
export function busUrlProblem(url: string): string | undefined {
  const parsed = parseBusUrl(url);
  return "problem" in parsed ? parsed.problem : undefined;
}

/** What is wrong with a bus URL for other hosts, or `undefined`. */
export function advertiseUrlProblem(url: string): string | undefined {
  const parsed = parseBusUrl(url);
  if ("problem" in parsed) return parsed.problem;
  const scope = scopeOf(parsed.host);
  return scope === undefined
    ? undefined
    : `a ${scope} address cannot be reached by other hosts; name the bus host`;
}

type ParsedBusUrl = { host: string } | { problem: string };

const expected = "expected tls://host:port, such as tls://bus:4222";
const urlForm = /^([A-Za-z][A-Za-z0-9+.-]{0,30}):\/\/([^/?#]*)(.*)$/s;
const authorityForm = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?$/;

function parseBusUrl(url: string): ParsedBusUrl {
  const [, scheme, authority = "", rest] = urlForm.exec(url) ?? [];
  if (scheme === undefined) return { problem: expected };
  if (scheme.toLowerCase() !== "tls") {
    return { problem: `only tls:// is accepted, not ${scheme}://: the bus never runs in plaintext` };
  }
  if (authority.includes("@")) return { problem: "a URL may not hold a user name, password or token" };
  if (rest !== "" && rest !== "/") return { problem: `nothing may follow the host and port; ${expected}` };
  const [, host, port] = authorityForm.exec(authority) ?? [];
  if (host === undefined || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))) {
    return { problem: expected };
  }
  try {
    // WHATWG URL leaves the host of a tls: URL as written; as http: it spells 0x7f.1 as 127.0.0.1,
    // which is what the resolver of the operating system would connect to.
    return { host: new URL(`http://${host}/`).hostname };
  } catch {
    return { problem: expected };
  }
}

const loopbackNames = new Set(["localhost", "ip6-localhost", "ip6-loopback", "localhost4", "localhost6"]);

function scopeOf(host: string): string | undefined {
  if (host.startsWith("[")) return scopeOfIPv6(host.slice(1, -1));
  if (isIPv4(host)) return scopeOfIPv4(host.split(".").map(Number));
  const labels = host.replace(/\.+$/, "").split(".");
  // RFC 6761 section 6.3: every name under localhost is loopback.
  const named = labels.at(-1) === "localdomain" ? labels.at(-2) : labels.at(-1);
  return loopbackNames.has(named ?? "") ? "loopback" : undefined;
}

function scopeOfIPv4([a, b]: readonly number[]): string | undefined {
  if (a === 127) return "loopback";
  if (a === 0) return "unspecified";
  return a === 169 && b === 254 ? "link-local" : undefined;
}

/** Prefixes of IPv6 addresses that carry an IPv4 address, and the index of the first group that does. */
const embeddings: readonly (readonly [prefix: readonly number[], start: number])[] = [
  [[0, 0, 0, 0, 0, 0xffff], 6], // mapped, RFC 4291 section 2.5.5.2
  [[0, 0, 0, 0, 0, 0], 6], // compatible, RFC 4291 section 2.5.5.1
  [[0, 0, 0, 0, 0xffff, 0], 6], // translated, RFC 2765 section 2.1
  [[0x64, 0xff9b, 0, 0, 0, 0], 6], // NAT64, RFC 6052 section 2.1
  [[0x2002], 1], // 6to4, RFC 3056 section 2
];

function scopeOfIPv6(text: string): string | undefined {
  const groups = groupsOf(text);
  if (groups.every((group) => group === 0)) return "unspecified";
  if (groups.slice(0, 7).every((group) => group === 0) && groups[7] === 1) return "loopback";
  if (((groups[0] ?? 0) & 0xffc0) === 0xfe80) return "link-local";
  for (const [prefix, start] of embeddings) {
    if (!prefix.every((group, i) => groups[i] === group)) continue;
    const [high = 0, low = 0] = groups.slice(start);
    return scopeOfIPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
  }
  return undefined;
}

/** The eight groups of an address in the one form a URL gives it: hexadecimal, at most one `::`. */
function groupsOf(text: string): number[] {
  const [head = "", tail] = text.split("::");
  const numbers = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  if (tail === undefined) return numbers(head);
  const [left, right] = [numbers(head), numbers(tail)];
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
}
