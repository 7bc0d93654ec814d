/** The tags of DER that a certificate is made of (X.690 section 8, RFC 5280). */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** The context tags: number `at`, of a value or of what has parts. */
  value: (at: number) => 0x80 + at,
  parts: (at: number) => 0xa0 + at,
} as const;

/** An element that was read: all its bytes, and those of its content. */
export interface Element {
  tag: number;
  der: Uint8Array;
  content: Uint8Array;
}

/** Encodes one element. @param contents what it contains, one after the other */
export function element(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents);
  return Buffer.concat([Uint8Array.of(tag), length(content.length), content]);
}

export const sequence = (...parts: readonly Uint8Array[]): Uint8Array => element(tags.sequence, ...parts);

/** A positive integer. @param bytes the most significant first */
export function integer(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const significant = first === -1 ? Uint8Array.of(0) : bytes.subarray(first);
  // The first bit is the sign.
  const sign = (significant[0] ?? 0) > 0x7f ? [Uint8Array.of(0)] : [];
  return element(tags.integer, ...sign, significant);
}

/** A bit string of whole bytes. */
export const bits = (bytes: Uint8Array): Uint8Array => element(tags.bitString, Uint8Array.of(0), bytes);

/** @param dotted an object identifier, such as `2.5.4.3` */
export function oid(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(tags.oid, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

/** An instant as a certificate expresses it: with two digits of the year until 2049. @param epochMs whole seconds */
export function time(epochMs: number): Uint8Array {
  const digits = `${new Date(epochMs).toISOString().slice(0, 19).replace(/\D/g, "")}Z`;
  return digits < "2050"
    ? element(tags.utcTime, Buffer.from(digits.slice(2)))
    : element(tags.generalizedTime, Buffer.from(digits));
}

/** Reads the elements of a content. @throws Error when it is cut off */
export function elements(content: Uint8Array): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < content.length; ) {
    const short = content[at + 1] ?? 0;
    const more = short > 0x7f ? short & 0x7f : 0;
    const from = at + 2 + more;
    const size =
      more === 0 ? short : content.subarray(at + 2, from).reduce((sum, byte) => sum * 256 + byte, 0);
    const end = from + size;
    if (end > content.length) throw new Error("a DER element is cut off");
    found.push({
      tag: content[at] ?? 0,
      der: content.subarray(at, end),
      content: content.subarray(from, end),
    });
    at = end;
  }
  return found;
}

function length(size: number): Uint8Array {
  if (size < 0x80) return Uint8Array.of(size);
  const bytes = [];
  for (let left = size; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return Uint8Array.of(0x80 + bytes.length, ...bytes);
}

function base128(value: number): number[] {
  const bytes = [value % 128];
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128)) {
    bytes.unshift((left % 128) + 128);
  }
  return bytes;
}
