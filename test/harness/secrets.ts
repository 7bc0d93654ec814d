import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { bytesOfText, textOfBytes } from "../../internal/base/files/byte-text.ts";

// What counts as a secret in the files that tests and binaries write, and how a text is searched for many of
// them at once.

/** A secret, and what kind of one: only the kind is ever shown. */
export interface Secret {
  kind: string;
  value: string;
}

/** Shorter ones would be found in any text. */
export const minSecret = 12;
const largestFile = 64 * 1024;
/** Directories that hold no secret and many files. */
const skipped = new Set(["store", "jetstream", ".git", "node_modules"]);

const patterns: [kind: string, pattern: RegExp][] = [
  ["key seed", /\bS[OAUXNC][A-Z2-7]{56}\b/g],
  // The claims of a JWT are no secret; what is signed with it is.
  ["JWT", /(?<=\beyJ[\w-]{10,}\.[\w-]{10,}\.)[\w-]{40,}/g],
];
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----\n([A-Za-z0-9+/=\n]+)-----END/g;

/** The secrets in a text: seeds, signatures of JWTs, and the lines of private keys that hold the key. */
export function secretsIn(text: string): Secret[] {
  const found = patterns.flatMap(([kind, pattern]) =>
    (text.match(pattern) ?? []).map((value): Secret => ({ kind, value })),
  );
  // The public key is at the end of most of them, and no secret.
  const lines = [...text.matchAll(privateKey)].flatMap(([, body = ""]) => body.split("\n").slice(0, 2));
  const keys = lines.filter(({ length }) => length >= 24);
  return [...found, ...keys.map((value): Secret => ({ kind: "private key", value }))];
}

/** The secrets in the files below a directory that only their owner may read. Names need not be UTF-8. */
export function secretsBelow(directory: string): Secret[] {
  return readdirSync(bytesOfText(directory), { encoding: "buffer" }).flatMap((bytes): Secret[] => {
    const name = textOfBytes(bytes);
    const path = `${directory}/${name}`;
    const at = bytesOfText(path);
    const stats = lstatSync(at);
    if (stats.isDirectory()) return skipped.has(name) ? [] : secretsBelow(path);
    if (!stats.isFile() || (stats.mode & 0o077) !== 0 || stats.size > largestFile) return [];
    const text = readFileSync(at, "latin1");
    const token = /token/.test(name) && /^\S+\s*$/.test(text) ? text.trim() : "";
    return [...(token.length >= minSecret ? [{ kind: "token", value: token }] : []), ...secretsIn(text)];
  });
}

/** The forms in which a secret may stand in a text. */
function formsOf({ kind, value }: Secret): string[] {
  const encoded: Buffer[] = [Buffer.from(value)];
  // A prefix of two bytes, the 32 bytes that count, and a checksum.
  if (kind === "key seed") encoded.push(base32Bytes(value).subarray(2, 34));
  return [value, ...encoded.flatMap((bytes) => [...hexOf(bytes), ...base64Of(bytes)])];
}

function base32Bytes(text: string): Buffer {
  const bits = [...text].map((digit) =>
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(digit).toString(2).padStart(5, "0"),
  );
  return Buffer.from((bits.join("").match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

function hexOf(bytes: Buffer): string[] {
  const hex = bytes.toString("hex");
  return [hex, hex.toUpperCase()];
}

/** What base64 of something longer has in common, wherever in it these bytes begin. */
function base64Of(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    // Characters at either end also hold bits of what is beside it.
    const rest = text.slice(
      before === 0 ? 0 : before + 1,
      (before + bytes.length) % 3 === 0 ? undefined : -1,
    );
    const url = rest.replaceAll("+", "-").replaceAll("/", "_");
    return url === rest ? [rest] : [rest, url];
  });
}

/** Where a secret stands. */
export interface Leak {
  kind: string;
  /** From 1. */
  line: number;
}

const base = 0x01000193;
const tableBits = 20;

/**
 * Prepares the search for all these secrets in one pass over each text (Rabin and Karp): a hash rolls over
 * windows of twelve bytes, and only where it is that of a secret's beginning is it compared.
 */
export function createSearch(secrets: Iterable<Secret>): (text: Buffer) => Leak[] {
  const byStart = new Map<string, { kind: string; form: Buffer }[]>();
  const table = new Uint8Array(1 << tableBits);
  for (const secret of secrets) {
    for (const text of new Set(formsOf(secret))) {
      const form = Buffer.from(text);
      const start = form.toString("latin1", 0, minSecret);
      const same = byStart.get(start) ?? [];
      same.push({ kind: secret.kind, form });
      byStart.set(start, same);
      table[hashOf(form) >>> (32 - tableBits)] = 1;
    }
  }
  let out = 1;
  for (let i = 0; i < minSecret; i++) out = Math.imul(out, base);
  return (text) => {
    const found = new Map<string, Leak>();
    let hash = 0;
    for (let end = 0; end < text.length; end++) {
      hash = (Math.imul(hash, base) + (text[end] as number)) | 0;
      if (end >= minSecret) hash = (hash - Math.imul(out, text[end - minSecret] as number)) | 0;
      if (end < minSecret - 1 || table[hash >>> (32 - tableBits)] === 0) continue;
      const at = end - minSecret + 1;
      for (const { kind, form } of byStart.get(text.toString("latin1", at, end + 1)) ?? []) {
        if (found.has(kind) || !text.subarray(at, at + form.length).equals(form)) continue;
        found.set(kind, { kind, line: lineOf(text, at) });
      }
    }
    return [...found.values()];
  };
}

function hashOf(form: Buffer): number {
  let hash = 0;
  for (let i = 0; i < minSecret; i++) hash = (Math.imul(hash, base) + (form[i] as number)) | 0;
  return hash;
}

function lineOf(text: Buffer, at: number): number {
  let line = 1;
  for (let i = 0; i < at; i++) if (text[i] === 10) line++;
  return line;
}
