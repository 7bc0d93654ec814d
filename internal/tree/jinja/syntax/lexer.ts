import { SyntaxFault } from "./syntax-fault.ts";

export type Token =
  | { kind: "text"; value: string; at: number }
  | { kind: "output" | "statement" | "end"; value: string; at: number }
  | { kind: "name" | "operator" | "string"; value: string; at: number }
  | { kind: "integer" | "float"; value: number; at: number };

const space = /\s*/y;
const word = /[\p{L}_][\p{L}\p{N}_]*/uy;
const number =
  /0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|(?:\d(?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?/y;
const string = /'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"/y;
const operator = /\/\/|\*\*|==|!=|<=|>=|[-+*/%~<>=.:|,;()[\]{}]/y;

const openers: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * The tokens of a template: its text, and between `{{`, `{%` and their ends what Jinja finds there. Comments and the
 * white space that `-` removes are gone.
 *
 * @throws SyntaxFault
 */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  /** The closing braces before had a `-`. */
  let trims = false;
  const addText = (from: number, to: number, trimEnd: boolean) => {
    const written = source.slice(from, to);
    let value = trims ? written.trimStart() : written;
    const at = to - value.length;
    if (trimEnd) value = value.trimEnd();
    if (value !== "") tokens.push({ kind: "text", value, at });
  };
  while (at < source.length) {
    const from = nextTag(source, at);
    if (from < 0) {
      addText(at, source.length, false);
      break;
    }
    const sign = source[from + 2];
    addText(at, from, sign === "-");
    trims = false;
    const inside = from + (sign === "-" || sign === "+" ? 3 : 2);
    if (source[from + 1] === "#") {
      const end = source.indexOf("#}", inside);
      if (end < 0) throw new SyntaxFault("missing end of comment tag", from);
      trims = source[end - 1] === "-";
      at = end + 2;
      continue;
    }
    const kind = source[from + 1] === "{" ? "output" : "statement";
    const raw = kind === "statement" ? /\s*raw\s*([-+]?)%\}/y : undefined;
    if (raw !== undefined) raw.lastIndex = inside;
    const opened = raw?.exec(source);
    if (opened) {
      const start = inside + opened[0].length;
      const closed = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/.exec(source.slice(start));
      if (closed === null) throw new SyntaxFault("missing end of raw directive", from);
      trims = opened[1] === "-";
      addText(start, start + closed.index, closed[1] === "-");
      trims = closed[2] === "-";
      at = start + closed.index + closed[0].length;
      continue;
    }
    tokens.push({ kind, value: source.slice(from, from + 2), at: from });
    ({ at, trims } = readTag(source, inside, from, kind === "output" ? "}}" : "%}", tokens));
  }
  return tokens;
}

/** The next offset at which a tag or a comment begins; -1 when there is none. */
function nextTag(source: string, from: number): number {
  for (let at = source.indexOf("{", from); at >= 0; at = source.indexOf("{", at + 1)) {
    const next = source[at + 1];
    if (next === "{" || next === "%" || next === "#") return at;
  }
  return -1;
}

/** Reads to the closing braces: those inside strings and brackets do not close a tag. */
function readTag(
  source: string,
  inside: number,
  from: number,
  close: string,
  tokens: Token[],
): { at: number; trims: boolean } {
  const brackets: string[] = [];
  for (let at = inside; ; ) {
    at += matchAt(space, source, at).length;
    if (at >= source.length) throw new SyntaxFault(`unexpected end of template, expected ${close}`, from);
    const sign = source[at];
    const signed = (sign === "-" || sign === "+") && source.startsWith(close, at + 1);
    if (brackets.length === 0 && (signed || source.startsWith(close, at))) {
      const end = signed ? at + 1 : at;
      tokens.push({ kind: "end", value: close, at: end });
      return { at: end + close.length, trims: sign === "-" && signed };
    }
    const token = readToken(source, at, from);
    if (token.kind === "operator") {
      const closer = openers[token.value];
      if (closer !== undefined) brackets.push(closer);
      else if (token.value === ")" || token.value === "]" || token.value === "}") {
        const expected = brackets.pop();
        if (expected === undefined) throw new SyntaxFault(`unexpected '${token.value}'`, at);
        if (expected !== token.value) {
          throw new SyntaxFault(`unexpected '${token.value}', expected '${expected}'`, at);
        }
      }
    }
    tokens.push(token);
    at = token.end;
  }
}

function readToken(source: string, at: number, tag: number): Token & { end: number } {
  const name = matchAt(word, source, at);
  if (name !== "") return { kind: "name", value: name, at, end: at + name.length };
  const digits = matchAt(number, source, at);
  if (digits !== "") {
    const plain = digits.replaceAll("_", "");
    const kind = /^0[xXoObB]/.test(plain) || !/[.eE]/.test(plain) ? "integer" : "float";
    return { kind, value: Number(plain), at, end: at + digits.length };
  }
  const quoted = matchAt(string, source, at);
  if (quoted !== "") {
    return { kind: "string", value: unescaped(quoted.slice(1, -1)), at, end: at + quoted.length };
  }
  const sign = matchAt(operator, source, at);
  if (sign !== "") return { kind: "operator", value: sign, at, end: at + sign.length };
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
  if (character === '"' || character === "'") throw new SyntaxFault("a string has no end", tag);
  throw new SyntaxFault(`unexpected character '${character}'`, at);
}

function matchAt(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? "";
}

const simple: Readonly<Record<string, string>> = {
  ...{ n: "\n", r: "\r", t: "\t", a: "\x07", b: "\b", f: "\f", v: "\v", "\n": "" },
  ...{ "\\": "\\", "'": "'", '"': '"' },
};

/** The escapes of Python; an unknown one stays as it is. */
function unescaped(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|([\s\S]))/g,
    (whole, two?: string, four?: string, eight?: string, octal?: string, other?: string) => {
      const hex = two ?? four ?? eight;
      if (hex !== undefined) {
        const point = Number.parseInt(hex, 16);
        return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
      }
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      return simple[other ?? ""] ?? whole;
    },
  );
}
