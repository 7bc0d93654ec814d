import { type Ending, endings } from "../../wire/return.ts";

/** The parts of a return that a small reader can judge, by the field: its value has one of these forms. */
type Form = "boolean" | "number" | "text" | "scalar" | "ending";

/** Each with a bit of its own. */
const fields: ReadonlyMap<string, { form: Form; bit: number }> = new Map(
  Object.entries({
    success: "boolean",
    retcode: "number",
    return: "scalar",
    error: "text",
    started_at: "text",
    duration_ms: "number",
    outcome: "ending",
  } satisfies Record<string, Form>).map(([name, form], at) => [name, { form, bit: 1 << at }] as const),
);
const needed = ["success", "retcode", "started_at", "duration_ms"].reduce(
  (bits, name) => bits | (fields.get(name)?.bit ?? 0),
  0,
);
const maxBytes = 4 * 1024;

/**
 * Reads how a return ended, and nothing else of it: masters count thousands of returns, whose values nobody asks them
 * for. It takes the usual form of a short return, with values that contain no others.
 *
 * @returns what `decodeReturn` says of the same bytes; `undefined` where only that can judge
 */
export function readEnding(bytes: Uint8Array): Ending | undefined {
  const [head = 0] = bytes;
  // A map of up to 15 fields.
  if (bytes.length > maxBytes || head < 0x80 || head > 0x8f) return undefined;
  let success = false;
  let outcome: Ending["outcome"];
  let seen = 0;
  let at = 1;
  for (let left = head & 0x0f; left > 0; left--) {
    const name = shortText(bytes, at);
    const field = name === undefined ? undefined : fields.get(name);
    // A field that this version does not know, or that is there twice.
    if (name === undefined || field === undefined || (seen & field.bit) !== 0) return undefined;
    seen |= field.bit;
    at += 1 + name.length;
    const length = lengthOf(bytes, at);
    if (length === undefined || !isOf(field.form, bytes, at)) return undefined;
    if (field.form === "boolean") success = bytes[at] === 0xc3;
    if (field.form === "ending") outcome = endingAt(bytes, at);
    at += length;
  }
  if (at !== bytes.length || (seen & needed) !== needed) return undefined;
  return outcome === undefined ? { success } : { success, outcome };
}

function isOf(form: Form, bytes: Uint8Array, at: number): boolean {
  const head = bytes[at] ?? 0;
  switch (form) {
    case "boolean":
      return isBoolean(head);
    case "number":
      return isInteger(head);
    case "text":
      return isText(head);
    case "ending":
      return endingAt(bytes, at) !== undefined;
    case "scalar":
      return true;
  }
}

function endingAt(bytes: Uint8Array, at: number): Ending["outcome"] {
  const text = shortText(bytes, at);
  return endings.find((one) => one === text);
}

/** A text of up to 31 bytes of ASCII; `undefined` for anything else. */
function shortText(bytes: Uint8Array, at: number): string | undefined {
  const head = bytes[at] ?? 0;
  const length = head & 0x1f;
  if (head < 0xa0 || head > 0xbf || at + 1 + length > bytes.length) return undefined;
  let text = "";
  for (let index = at + 1; index <= at + length; index++) {
    const code = bytes[index] ?? 0;
    if (code > 0x7f) return undefined;
    text += String.fromCharCode(code);
  }
  return text;
}

const isBoolean = (head: number): boolean => head === 0xc2 || head === 0xc3;
const isText = (head: number): boolean => (head >= 0xa0 && head <= 0xbf) || (head >= 0xd9 && head <= 0xdb);
/** Of up to 32 bits. What is longer may not fit into a number, and a fraction may be none. */
const isInteger = (head: number): boolean =>
  head <= 0x7f || head >= 0xe0 || (head >= 0xcc && head <= 0xce) || (head >= 0xd0 && head <= 0xd2);

/** How many bytes a value has that contains no others; `undefined` for one that does, and for a part of one. */
function lengthOf(bytes: Uint8Array, at: number): number | undefined {
  const head = bytes[at];
  if (head === undefined) return undefined;
  const length = lengthBy(head, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0);
  return length === undefined || at + length > bytes.length ? undefined : length;
}

/** By the first bytes of the value (the MessagePack specification, "Formats"). */
function lengthBy(head: number, second: number, third: number): number | undefined {
  if (isBoolean(head) || head === 0xc0 || head <= 0x7f || head >= 0xe0) return 1;
  if (head >= 0xa0 && head <= 0xbf) return 1 + (head & 0x1f);
  if (head === 0xd9) return 2 + second;
  if (head === 0xda) return 3 + (second << 8) + third;
  if (head === 0xcc || head === 0xd0) return 2;
  if (head === 0xcd || head === 0xd1) return 3;
  if (head === 0xca || head === 0xce || head === 0xd2) return 5;
  return head === 0xcb ? 9 : undefined;
}
