interface Token {
  text: string;
  from: number;
}

const code = /\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}|\{#[\s\S]*?#\}/g;
const raw = /\{%[-+]?\s*raw\s*[-+]?%\}[\s\S]*?\{%[-+]?\s*endraw\s*[-+]?%\}/g;
const token = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[A-Za-z_]\w*|\d[\w.]*|\S/g;
const openers: Record<string, string> = { ")": "(", "]": "[", "}": "{" };
/** Words after which an expression begins; a bracket after any other word belongs to that word. */
const keywords = new Set(
  "if elif else for in is not and or set do include import from extends call with filter recursive".split(
    " ",
  ),
);

/**
 * Rewrites `map.get(key, default)` to `(map[key]|default(default))`. The form is common in Salt templates,
 * but the engine supports it only with one argument. Line numbers do not change.
 */
export function rewriteMapGet(text: string): string {
  if (!/\.\s*get\s*\(/.test(text)) return text;
  const kept = [...text.matchAll(raw)].map((match) => [match.index, match.index + match[0].length] as const);
  return text.replace(code, (tag, at: number) => {
    const verbatim = tag.startsWith("{#") || kept.some(([from, to]) => at >= from && at < to);
    return verbatim ? tag : rewriteTag(tag);
  });
}

function rewriteTag(tag: string): string {
  const tokens = [...tag.matchAll(token)].map((match): Token => ({ text: match[0], from: match.index }));
  const pairs = pairsOf(tokens);
  /** Replacements of tokens, and insertions before them. */
  const replaced = new Map<number, string>();
  const before = new Map<number, string>();
  for (let at = 1; at + 2 < tokens.length; at++) {
    if (tokens[at]?.text !== "." || tokens[at + 1]?.text !== "get" || tokens[at + 2]?.text !== "(") continue;
    const close = pairs.get(at + 2);
    const commas = close === undefined ? [] : topLevelCommas(tokens, pairs, at + 2, close);
    const [comma] = commas;
    if (close === undefined || comma === undefined || commas.length > 1) continue;
    const start = startOf(tokens, pairs, at - 1);
    before.set(start, `(${before.get(start) ?? ""}`);
    replaced
      .set(at, "")
      .set(at + 1, "")
      .set(at + 2, "[");
    replaced.set(comma, "]|default(").set(close, "))");
  }
  if (replaced.size === 0) return tag;
  let written = "";
  let end = 0;
  for (const [index, { text, from }] of tokens.entries()) {
    written += tag.slice(end, from) + (before.get(index) ?? "") + (replaced.get(index) ?? text);
    end = from + text.length;
  }
  return written + tag.slice(end);
}

/** The matching bracket of each bracket, in both directions. */
function pairsOf(tokens: readonly Token[]): Map<number, number> {
  const pairs = new Map<number, number>();
  const open: number[] = [];
  for (const [index, { text }] of tokens.entries()) {
    if (text === "(" || text === "[" || text === "{") open.push(index);
    const opener = openers[text];
    const last = open.at(-1);
    if (opener === undefined || last === undefined || tokens[last]?.text !== opener) continue;
    open.pop();
    pairs.set(last, index).set(index, last);
  }
  return pairs;
}

function topLevelCommas(
  tokens: readonly Token[],
  pairs: ReadonlyMap<number, number>,
  open: number,
  close: number,
): number[] {
  const commas: number[] = [];
  for (let at = open + 1; at < close; at++) {
    if (tokens[at]?.text === ",") commas.push(at);
    const end = pairs.get(at);
    if (end !== undefined && end > at) at = end;
  }
  return commas;
}

/** The first token of the expression that ends with this token: `a.b['c'](d)` begins at `a`. */
function startOf(tokens: readonly Token[], pairs: ReadonlyMap<number, number>, last: number): number {
  let at = last;
  for (;;) {
    const open = pairs.get(at);
    if (open !== undefined && open < at) {
      const owner = tokens[open - 1]?.text ?? "";
      const owned = /^[\w)\]"'}]/.test(owner) && !keywords.has(owner) && tokens[at]?.text !== "}";
      if (!owned || open < 1) return open;
      at = open - 1;
    } else if (tokens[at - 1]?.text === "." && at >= 2) {
      at -= 2;
    } else {
      return at;
    }
  }
}
