import { isIP } from "node:net";
import { quote } from "../../base/cut.ts";
import { parseIp } from "../../base/names/ip-network.ts";
import { Fault, isInteger, type Value } from "../jinja/values/mod.ts";

// Addresses and networks as Python reads and writes them.

/** An address, with or without the length of a network. */
export interface Address {
  version: 4 | 6;
  /** Without the length of a network. */
  address: string;
  text: string;
}

/** The address that a text is, with or without the length of a network; an integer and bytes are addresses as well. */
export function addressIn(value: Value): Address | undefined {
  if (value instanceof Uint8Array) {
    if (value.length !== 4 && value.length !== 16) return undefined;
    return addressOf(numberIn(value), value.length === 16);
  }
  if (isInteger(value)) {
    const number = Number(value);
    return number < 0 ? undefined : addressOf(BigInt(number), number >= 2 ** 32);
  }
  if (typeof value !== "string") return undefined;
  const [, host = "", scope = "", length] = /^([^/%]+)(%[^/%]+)?(?:\/([\d.]+))?$/.exec(value) ?? [];
  const version = isIP(host);
  if (version === 0 || (scope !== "" && version === 4)) return undefined;
  const bytes = parseIp(host) ?? new Uint8Array();
  // A mapped IPv4 address is one of version 6.
  const number = version === 6 && bytes.length === 4 ? (0xffffn << 32n) + numberIn(bytes) : numberIn(bytes);
  const { address } = addressOf(number, version === 6);
  const bits = length === undefined ? undefined : lengthOf(length, version === 6 ? 128 : 32);
  if (length !== undefined && bits === undefined) return undefined;
  const suffix = bits === undefined ? "" : `/${bits}`;
  return { version: version === 6 ? 6 : 4, address, text: `${address}${scope}${suffix}` };
}

function addressOf(number: bigint, isV6: boolean): Address {
  const address = addressText(number, isV6);
  return { version: isV6 ? 6 : 4, address, text: address };
}

/** The length of a network, also of an IPv4 mask such as 255.255.255.0 or its inverse. */
function lengthOf(text: string, max: number): number | undefined {
  if (/^\d+$/.test(text)) return Number(text) <= max ? Number(text) : undefined;
  if (max !== 32 || isIP(text) !== 4) return undefined;
  const mask = Array.from(parseIp(text) ?? [], (byte) => byte.toString(2).padStart(8, "0")).join("");
  const [, ones = "", zeros = ""] = /^(1*)(0*)$/.exec(mask) ?? [];
  if (ones.length + zeros.length === 32) return ones.length;
  const [, inverse = ""] = /^(0+)1*$/.exec(mask) ?? [];
  return inverse === "" ? undefined : inverse.length;
}

const numberIn = (bytes: Uint8Array): bigint => bytes.reduce((all, byte) => (all << 8n) | BigInt(byte), 0n);

/** The addresses of a network. */
interface Range {
  first: bigint;
  size: bigint;
  isV6: boolean;
}

/** @throws Fault */
export function networkOf(text: string): Range {
  const [, address = "", length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bytes = isIP(address) === 0 ? undefined : parseIp(address);
  const isV6 = bytes?.length === 16;
  const max = isV6 ? 128 : 32;
  const bits = length === undefined ? max : Number(length);
  if (bytes === undefined || bits > max) throw new Fault(`${quote(text, 60)} is not a network`);
  const size = 1n << BigInt(max - bits);
  const number = numberIn(bytes);
  return { first: number - (number % size), size, isV6 };
}

/** The network of an address with a length or a mask, as Python writes it; `undefined` where the text is not one. */
export function networkText(text: string): string | undefined {
  const found = addressIn(text);
  if (found === undefined) return undefined;
  const [, length = found.version === 4 ? "32" : "128"] = /\/(\d+)$/.exec(found.text) ?? [];
  const { first, isV6 } = networkOf(`${found.address}/${length}`);
  return `${addressText(first, isV6)}/${length}`;
}

/** @param number the bytes of an address as one number */
export function addressText(number: bigint, isV6: boolean): string {
  const group = isV6 ? 16n : 8n;
  const parts = Array.from(
    { length: isV6 ? 8 : 4 },
    (_, at) => (number >> (group * BigInt((isV6 ? 7 : 3) - at))) & ((1n << group) - 1n),
  );
  if (!isV6) return parts.join(".");
  const text = parts.map((part) => part.toString(16)).join(":");
  const [maxLength] = [...text.matchAll(/(?:^|:)0(?::0)+(?=:|$)/g)].sort(
    (one, other) => other[0].length - one[0].length,
  );
  if (maxLength === undefined) return text;
  return `${text.slice(0, maxLength.index)}::${text.slice(maxLength.index + maxLength[0].length).replace(/^:/, "")}`;
}
