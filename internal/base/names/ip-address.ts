import { isIP } from "node:net";

/** The one spelling of an address, that of inet_ntop(3): an IPv6 address may be written in many ways. Another text stays. */
export function canonicalAddress(text: string): string {
  const [, address = "", zone = ""] = /^([^%]*)(%.*)?$/.exec(text) ?? [];
  if (isIP(address) !== 6) return text;
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [, head = "", high = "", low = ""] = /^(::(?:ffff:)?)([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? [];
  if (head === "") return `${short}${zone}`;
  const ipv4 = [high, low]
    .map((group) => Number.parseInt(group, 16))
    .flatMap((word) => [word >> 8, word & 255]);
  return `${head}${ipv4.join(".")}${zone}`;
}

/**
 * The one spelling of an address or a network: without the bits that do not count, and without a length where all
 * count. A mask is a length. Another text stays.
 */
export function canonicalNetwork(text: string): string {
  const [, address = "", mask] = /^([^/]+)(?:\/([^/]+))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0 || mask === undefined) return canonicalAddress(text);
  const size = version === 4 ? 32 : 128;
  const length = /^\d{1,3}$/.test(mask) ? Number(mask) : lengthOf(mask);
  if (length === undefined || length > size) return text;
  const kept = (bitsOf(address, size) >> BigInt(size - length)) << BigInt(size - length);
  return length === size ? canonicalAddress(address) : `${formatBits(kept, size)}/${length}`;
}

/** The length of a mask such as 255.255.0.0. */
function lengthOf(mask: string): number | undefined {
  if (isIP(mask) !== 4) return undefined;
  const [, ones, zeros] = /^(1*)(0*)$/.exec(bitsOf(mask, 32).toString(2).padStart(32, "0")) ?? [];
  return zeros === undefined ? undefined : ones?.length;
}

function bitsOf(address: string, size: number): bigint {
  if (size === 32) return address.split(".").reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const [first, last] = [groups(head), groups(tail ?? "")];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  return [...first, ...zeros, ...last].reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

function formatBits(bits: bigint, size: number): string {
  const digits = bits.toString(16).padStart(size / 4, "0");
  if (size === 128) return canonicalAddress(digits.replace(/(.{4})(?=.)/g, "$1:"));
  return digits.replace(/(..)/g, (byte) => `${Number.parseInt(byte, 16)}.`).slice(0, -1);
}
