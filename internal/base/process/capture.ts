import { bytesLeftOut } from "../cut.ts";

/** The output of a stream, as text. */
export interface CapturedText {
  /** UTF-8 with replacement characters. A line states how many bytes were omitted, and where. */
  text: string;
  /** Number of bytes that are not in the text. */
  omitted: number;
}

/** Keeps the head and the tail of a stream in bounded memory. */
export interface Capture {
  add(chunk: Uint8Array): void;
  text(): CapturedText;
}

/**
 * @param limit how many bytes are kept, half of them from each end
 * @param decode makes a text of the bytes
 */
export function captureEnds(limit: number, decode: (bytes: Buffer) => string = decodeUtf8): Capture {
  const half = Math.ceil(limit / 2);
  const head = Buffer.alloc(half);
  let inHead = 0;
  let tail: Buffer[] = [];
  let inTail = 0;
  let total = 0;

  const compact = () => {
    const kept = Buffer.concat(tail).subarray(-half);
    tail = [Buffer.from(kept)];
    inTail = kept.length;
  };

  return {
    add(chunk) {
      total += chunk.length;
      const first = Math.min(chunk.length, half - inHead);
      head.set(chunk.subarray(0, first), inHead);
      inHead += first;
      // The last bytes of a large chunk are enough, and the copy frees the rest.
      const rest = chunk.subarray(first).subarray(-half);
      if (rest.length === 0) return;
      tail.push(Buffer.from(rest));
      inTail += rest.length;
      if (inTail > 2 * half) compact();
    },
    text() {
      compact();
      const start = head.subarray(0, inHead);
      const end = tail[0] ?? Buffer.alloc(0);
      if (inHead + end.length >= total) return { text: decode(Buffer.concat([start, end])), omitted: 0 };
      const before = start.subarray(0, wholeCharacters(start));
      const after = end.subarray(brokenCharacter(end));
      const omitted = total - before.length - after.length;
      return { text: `${decode(before)}${bytesLeftOut(omitted)}${decode(after)}`, omitted };
    },
  };
}

function decodeUtf8(bytes: Buffer): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** The length of `bytes` without an incomplete UTF-8 character at the end. */
export function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return size > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** How many bytes at the start belong to a UTF-8 character that began earlier. */
function brokenCharacter(bytes: Uint8Array): number {
  let count = 0;
  while (count < 3 && ((bytes[count] ?? 0) & 0xc0) === 0x80) count++;
  return count;
}
