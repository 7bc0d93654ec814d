import { randomBytes } from "node:crypto";

/** A source of cryptographically strong random bytes; tests pass a seeded one. */
export type Random = (length: number) => Uint8Array;

export const systemRandom: Random = (length) => randomBytes(length);

/** A number in [0, 1) that spreads retries. Not for security decisions. */
export const systemJitter = (): number => Math.random();

const ksuidEpochSeconds = 1_400_000_000;
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ksuidLength = 27;

/** The kinds of identifiers the service makes, by prefix. */
export type IdPrefix = "enr" | "chl" | "job" | "rol" | "tok" | "jtk" | "apr" | "ses" | "pln";

const patterns: Record<IdPrefix, RegExp> = {
  enr: /^enr-[0-9A-Za-z]{27}$/,
  chl: /^chl-[0-9A-Za-z]{27}$/,
  job: /^job-[0-9A-Za-z]{27}$/,
  rol: /^rol-[0-9A-Za-z]{27}$/,
  tok: /^tok-[0-9A-Za-z]{27}$/,
  jtk: /^jtk-[0-9A-Za-z]{27}$/,
  apr: /^apr-[0-9A-Za-z]{27}$/,
  ses: /^ses-[0-9A-Za-z]{27}$/,
  pln: /^pln-[0-9A-Za-z]{27}$/,
};

/**
 * Makes `<prefix>-<KSUID>`: 27 base-62 characters over a 4-byte timestamp and 16 random bytes, so
 * that identifiers sort by the second in which they were made.
 *
 * @param nowMs milliseconds since the Unix epoch
 */
export function newId(prefix: IdPrefix, nowMs: number, random: Random): string {
  return formatId(prefix, nowMs, random(16));
}

/**
 * Makes an identifier that follows from what it is for: the same action, repeated on another host or after a
 * crash, gets the same one. Only a party that can compute the MAC can predict it.
 *
 * @param atMs milliseconds since the Unix epoch. It is part of the identifier, so do not pass the time of the
 *   call
 * @param mac a MAC of at least 16 bytes over what the identifier is for
 */
export function keyedId(prefix: IdPrefix, atMs: number, mac: Uint8Array): string {
  return formatId(prefix, atMs, mac.subarray(0, 16));
}

function formatId(prefix: IdPrefix, atMs: number, payload: Uint8Array): string {
  const bytes = new Uint8Array(20);
  new DataView(bytes.buffer).setUint32(0, Math.floor(atMs / 1000) - ksuidEpochSeconds);
  bytes.set(payload, 4);
  let value = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  let text = "";
  while (value > 0n) {
    text = alphabet[Number(value % 62n)] + text;
    value /= 62n;
  }
  return `${prefix}-${text.padStart(ksuidLength, "0")}`;
}

/** The form of the identifiers of a kind, as a regular expression for schemas. */
export function idPattern(prefix: IdPrefix): string {
  return patterns[prefix].source;
}

/** Whether `text` has the exact form of an identifier of this kind. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return patterns[prefix].test(text);
}

/**
 * The creation time that an identifier claims: milliseconds since the Unix epoch, to the second. The time
 * is not verified.
 *
 * @param id a well-formed identifier
 */
export function timeOfId(id: string): number {
  let value = 0n;
  for (const digit of id.slice(-ksuidLength)) value = value * 62n + BigInt(alphabet.indexOf(digit));
  return (Number(value >> 128n) + ksuidEpochSeconds) * 1000;
}
