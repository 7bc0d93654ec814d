/** One tag of a template: `{{ … }}` or `{% … %}`. */
export interface Tag {
  readonly kind: "output" | "statement";
  /** Offsets in the text, the braces included. */
  readonly from: number;
  readonly to: number;
  /** Counted from 1. */
  readonly line: number;
  readonly tokens: readonly string[];
  /** `-`, `+` or nothing after the opening and before the closing braces. */
  readonly trims: readonly [left: string, right: string];
}

const token =
  /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[A-Za-z_]\w*|\d[\w.]*|==|!=|<=|>=|\/\/|\*\*|[^\s]/g;
const openers = new Set(["(", "[", "{"]);
const closers = new Set([")", "]", "}"]);
const start = /\{[{%#]/g;

/** The tags of a template in their order. Comments and raw blocks are not in them; neither is a tag without an end. */
export function tagsOf(text: string): Tag[] {
  const tags: Tag[] = [];
  let line = 1;
  let counted = 0;
  const lineAt = (offset: number) => {
    for (; counted < offset; counted++) if (text[counted] === "\n") line++;
    return line;
  };
  start.lastIndex = 0;
  for (let at = 0; ; ) {
    start.lastIndex = at;
    const found = start.exec(text);
    if (found === null) return tags;
    const from = found.index;
    if (found[0] === "{#") {
      const end = text.indexOf("#}", from + 2);
      if (end < 0) return tags;
      at = end + 2;
      continue;
    }
    const tag = readTag(text, from, lineAt(from));
    if (tag === undefined) return tags;
    at = tag.to;
    if (tag.kind === "statement" && tag.tokens[0] === "raw") {
      const end = /\{%[-+]?\s*endraw\s*[-+]?%\}/g;
      end.lastIndex = at;
      const closing = end.exec(text);
      if (closing === null) return tags;
      at = closing.index + closing[0].length;
      continue;
    }
    tags.push(tag);
  }
}

/** Reads to the closing braces: those inside strings and brackets do not close a tag. */
function readTag(text: string, from: number, line: number): Tag | undefined {
  const kind = text[from + 1] === "{" ? "output" : "statement";
  const close = kind === "output" ? "}}" : "%}";
  const tokens: string[] = [];
  const sign = /[-+]/.exec(text[from + 2] ?? "")?.[0] ?? "";
  const each = new RegExp(token);
  each.lastIndex = from + 2 + sign.length;
  for (let depth = 0; ; ) {
    const found = each.exec(text);
    if (found === null) return undefined;
    const [word] = found;
    const after = found.index + word.length;
    if (depth === 0) {
      const isSigned = /^[-+]$/.test(word) && text.startsWith(close, after);
      if (isSigned || text.startsWith(close, found.index)) {
        const to = (isSigned ? after : found.index) + close.length;
        return { kind, from, to, line, tokens, trims: [sign, isSigned ? word : ""] };
      }
    }
    if (openers.has(word)) depth++;
    if (closers.has(word)) depth = Math.max(0, depth - 1);
    tokens.push(word);
  }
}
