/** A bracket or a quote that opens, and where. */
export interface Opened {
  sign: "[" | "{" | "'" | '"';
  at: number;
}

/** What is open at a place of a text, outermost first, and whether the innermost is closed after it. */
export interface Unclosed {
  open: readonly Opened[];
  isClosedLater: boolean;
  /** The last text in quotes that ends before this place: its two quotes. */
  quoted?: { from: number; to: number };
}

const closers: Readonly<Record<string, string>> = { "[": "]", "{": "}" };
/** What may stand before a value: the signs of a list, anchors and tags, and keys. */
const lead =
  /^[ \t]*(?:[-?][ \t]+|[&!][^\s]*[ \t]+|(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'|[^\s'"[{#&*!|>%@`,\]}-][^#\n]*?|-[^\s][^#\n]*?)[ \t]*:[ \t]+)*/;
const blockHeader = /^[|>][-+0-9]*[ \t]*(?:#.*)?\r?$/;

/**
 * Finds the brackets and quotes that are open at an offset of YAML, in a text that a parser refuses there. It follows
 * brackets, quotes, comments and block texts alone, so it may be wrong about a text that is broken before: try first
 * whether the text before what it finds is YAML.
 */
export function unclosedAt(text: string, offset: number): Unclosed {
  return scan(text, offset);
}

/** Visits what is between brackets that are closed, the outermost ones, in order. */
export function eachFlow(text: string, visit: (from: number, to: number) => void): void {
  scan(text, text.length + 1, visit);
}

function scan(text: string, offset: number, visit?: (from: number, to: number) => void): Unclosed {
  let at = 0;
  let quoted: Unclosed["quoted"];
  while (at < offset && at < text.length) {
    const start = at;
    const line = text.slice(at, lineAfter(text, at)).replace(/\n$/, "");
    const [before = ""] = lead.exec(line) ?? [];
    at += before.length;
    const sign = text[at] ?? "";
    if (sign === "[" || sign === "{") {
      const found = readFlow(text, at, offset);
      if (found.open.length > 0) return { ...found, ...(quoted && { quoted }) };
      visit?.(at, found.end);
      at = found.end;
    } else if (sign === "'" || sign === '"') {
      const end = endOfQuote(text, at);
      if (end >= offset) return { open: [{ sign, at }], isClosedLater: end < text.length };
      quoted = { from: at, to: end };
      at = end + 1;
    } else if (blockHeader.test(line.slice(before.length))) {
      at = endOfBlock(text, lineAfter(text, at), columnOf(text, start, at));
      continue;
    }
    at = lineAfter(text, at);
  }
  return { open: [], isClosedLater: false, ...(quoted && { quoted }) };
}

function lineAfter(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}

/** Reads brackets from the one at `from` until they are closed, or `offset` and what follows it. */
function readFlow(text: string, from: number, offset: number): Unclosed & { end: number } {
  const stack: Opened[] = [];
  let open: readonly Opened[] | undefined;
  /** Whether a value may start here: quotes inside a word are letters. */
  let isFresh = true;
  let at = from;
  for (; at < text.length; at++) {
    if (at >= offset) open ??= [...stack];
    const sign = text[at] ?? "";
    if (sign === "#" && /\s/.test(text[at - 1] ?? " ")) {
      const line = text.indexOf("\n", at);
      at = line < 0 ? text.length : line;
    } else if ((sign === "'" || sign === '"') && isFresh) {
      const end = endOfQuote(text, at);
      if (open === undefined && end >= offset)
        return { open: [...stack, { sign, at }], isClosedLater: end < text.length, end };
      at = end;
      isFresh = false;
    } else if (sign === "[" || sign === "{") {
      stack.push({ sign, at });
      isFresh = true;
    } else if (sign === "]" || sign === "}") {
      const last = stack.at(-1);
      if (last === undefined || closers[last.sign] !== sign) break;
      if (open !== undefined && stack.length === open.length) return { open, isClosedLater: true, end: at };
      stack.pop();
      if (stack.length === 0) return { open: open ?? [], isClosedLater: false, end: at + 1 };
      isFresh = false;
    } else if (sign === "," || (sign === ":" && isColon(text, at))) isFresh = true;
    else if (!/\s/.test(sign)) isFresh = false;
  }
  return { open: open ?? stack, isClosedLater: false, end: at };
}

/** Whether a colon between brackets ends a key: space follows it, or it follows a quote, as in JSON. */
const isColon = (text: string, at: number): boolean =>
  /[\s[\]{},]/.test(text[at + 1] ?? " ") || /["'\]}]/.test(text[at - 1] ?? "");

/** The offset of the quote that closes, or the end of the text. */
export function endOfQuote(text: string, from: number): number {
  const sign = text[from] ?? "";
  for (let at = from + 1; at < text.length; at++) {
    if (sign === '"' && text[at] === "\\") at++;
    else if (text[at] === sign) {
      if (sign === '"' || text[at + 1] !== "'") return at;
      at++;
    }
  }
  return text.length;
}

/** The first line after `from` that is not further in than the key of a block text. */
function endOfBlock(text: string, from: number, column: number): number {
  let at = from;
  while (at < text.length) {
    const [blank = ""] = /^[ ]*/.exec(text.slice(at, at + 1000)) ?? [];
    const next = text[at + blank.length] ?? "\n";
    if (next !== "\n" && next !== "\r" && blank.length <= column) return at;
    at = lineAfter(text, at);
  }
  return at;
}

/** The column of the last key before a value, or of the sign of a list: what belongs to it is further in. */
function columnOf(text: string, lineStart: number, value: number): number {
  const before = text.slice(lineStart, value);
  const signs = /^(?:[ \t]*[-?][ \t]+)+/.exec(before)?.[0] ?? /^[ \t]*/.exec(before)?.[0] ?? "";
  return signs.length < before.length ? signs.length : Math.max(before.lastIndexOf("-"), -1);
}
