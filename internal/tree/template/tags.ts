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

/** The tags of a template in their order. Comments and raw blocks are not in them; neither is a tag without an end. */
export function tagsOf(text: string): Tag[] {
  const tags: Tag[] = [];
  let line = 1;
  let counted = 0;
  const lineAt = (offset: number) => {
    for (; counted < offset; counted++) if (text[counted] === "\n") line++;
    return line;
  };
  for (let at = 0; ; ) {
    const from = nextStart(text, at);
    if (from < 0) return tags;
    if (text[from + 1] === "#") {
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

/** The next offset at which a tag or a comment begins; -1 when there is none. */
function nextStart(text: string, from: number): number {
  for (let at = text.indexOf("{", from); at >= 0; at = text.indexOf("{", at + 1)) {
    if (/[{%#]/.test(text[at + 1] ?? "")) return at;
  }
  return -1;
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
