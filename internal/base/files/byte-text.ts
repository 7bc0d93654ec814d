import { isUtf8 } from "node:buffer";

/**
 * Names on Linux, and what people write into files, are bytes, and old ones are not always UTF-8. Bytes that are not
 * are half characters in a text (U+DC80 to U+DCFF, as in Python), so that the text leads back to the same bytes:
 * with replacement characters a name would lead to no entry, which looks like one that was just removed, and a file
 * that is written back would lose what others wrote. Only operators of texts keep the halves: the functions of
 * `node:path` and of `node:fs` replace them.
 */
export function textOfBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const [byte = 0] = bytes.subarray(at);
    const length = lengthAfter(byte);
    const character = bytes.subarray(at, at + length);
    const isWhole = character.length === length && isUtf8(character);
    text += isWhole ? character.toString() : String.fromCharCode(halves + byte);
    at += isWhole ? length : 1;
  }
  return text;
}

/** What a text stands for, for system calls. */
export function bytesOfText(text: string): string | Buffer {
  if (text.isWellFormed()) return text;
  const parts = text.split(/(\p{Surrogate})/u);
  return Buffer.concat(
    parts.map((part) => {
      const byte = byteOf(part);
      return byte === undefined ? Buffer.from(part) : Buffer.of(byte);
    }),
  );
}

/** A text for people: bytes that are not UTF-8 as in `caf\xe9`. */
export function shownText(text: string): string {
  return text.replace(/\p{Surrogate}/gu, (half) => {
    const byte = byteOf(half);
    return byte === undefined ? "\ufffd" : `\\x${byte.toString(16)}`;
  });
}

const halves = 0xdc00;

/** The byte that half a character stands for. */
function byteOf(text: string): number | undefined {
  const byte = text.charCodeAt(0) - halves;
  return text.length === 1 && byte >= 0x80 && byte <= 0xff ? byte : undefined;
}

/** How many bytes a character has that begins with this one. */
function lengthAfter(byte: number): number {
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 1;
}
