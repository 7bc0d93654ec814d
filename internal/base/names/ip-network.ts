import { isIP } from "node:net";

/** A range of addresses, such as 192.0.2.0/24. */
export interface IpNetwork {
  /** 4 bytes of an IPv4 address, 16 of an IPv6 address. */
  readonly bytes: Uint8Array;
  /** How many of the first bits count. */
  readonly bits: number;
}

/** The 4 or 16 bytes of an address; an IPv4 address in IPv6 notation is the IPv4 address. */
export function parseIp(text: string): Uint8Array | undefined {
  const [plain = ""] = text.split("%", 1);
  const version = isIP(plain);
  if (version === 4) return Uint8Array.from(plain.split("."), Number);
  if (version !== 6) return undefined;
  const bytes = readIpv6(plain);
  const isMapped =
    bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  return isMapped ? bytes.slice(12) : bytes;
}

/** What counts as one source: an IPv4 address, or the /64 that an IPv6 host chooses its addresses from. */
export function sourceOf(ip: string, address = parseIp(ip)): string {
  return address?.length === 16 ? `${Buffer.from(address.subarray(0, 8)).toString("hex")}::/64` : ip;
}

/** The same as a range. @param address what {@link parseIp} read */
export function sourceNetwork(address: Uint8Array): IpNetwork {
  if (address.length === 4) return { bytes: address, bits: 32 };
  return { bytes: Uint8Array.from(address, (byte, at) => (at < 8 ? byte : 0)), bits: 64 };
}

/** What holds places together: an IPv4 address, or the /48 that an IPv6 site has. */
export function siteOf(ip: string): string {
  const address = parseIp(ip);
  if (address === undefined) return ip;
  return address.length === 16
    ? `${Buffer.from(address.subarray(0, 6)).toString("hex")}::/48`
    : address.join(".");
}

/** Reads `192.0.2.0/24`, `2001:db8::/32` or one address. Bits beyond the length must be zero. */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const [, address = "", length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bytes = parseIp(address);
  if (bytes === undefined) return undefined;
  // The length of a mapped address counts from the start of the IPv6 notation.
  const ahead = isIP(address) === 6 && bytes.length === 4 ? 96 : 0;
  const bits = length === undefined ? bytes.length * 8 : Number(length) - ahead;
  if (bits < 0 || bits > bytes.length * 8) return undefined;
  return bytes.every((byte, at) => byte === maskedByte(bytes, at, bits)) ? { bytes, bits } : undefined;
}

/** A network as it is written. */
export function formatNetwork({ bytes, bits }: IpNetwork): string {
  if (bytes.length === 4) return `${bytes.join(".")}/${bits}`;
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0)).toString(16),
  );
  // The parser of URLs writes an address in its short form.
  return `${new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1)}/${bits}`;
}

/** Whether an address is in a range. */
export function isInNetwork(address: Uint8Array, { bytes, bits }: IpNetwork): boolean {
  return (
    address.length === bytes.length && address.every((_, at) => maskedByte(address, at, bits) === bytes[at])
  );
}

function maskedByte(bytes: Uint8Array, at: number, bits: number): number {
  const kept = Math.min(8, Math.max(0, bits - at * 8));
  return (bytes[at] ?? 0) & (0xff00 >> kept) & 0xff;
}

/** @param text an address that is valid */
function readIpv6(text: string): Uint8Array {
  const hexadecimal = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [head = "", tail] = hexadecimal.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const first = groups(head);
  const last = groups(tail ?? "");
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - first.length - last.length }, () => "0");
  const words = [...first, ...zeros, ...last].map((group) => Number.parseInt(group, 16));
  return Uint8Array.from(words.flatMap((word) => [word >> 8, word & 255]));
}
