type Tokens = readonly string[];

const keywords = new Set(
  "and or not in is if else true false none True False None recursive ignore missing with without context".split(
    " ",
  ),
);
const word = /^[A-Za-z_]/;
const pairs: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** The parts of an expression that choose, rather than being its value: conditions and subscripts. */
export interface Parts {
  /** The names that the value is made of, with the word after a dot for modules. */
  readonly names: readonly { name: string; attribute: string | undefined; isCalled: boolean }[];
  /** Expressions that only choose among values. */
  readonly choosers: readonly Tokens[];
  /** Whether there is something that is not understood. */
  readonly isStrange: boolean;
}

/** Takes an expression apart. */
export function partsOf(tokens: Tokens): Parts {
  const names: { name: string; attribute: string | undefined; isCalled: boolean }[] = [];
  const choosers: Tokens[] = [];
  let isStrange = false;
  for (let at = 0; at < tokens.length; at++) {
    const one = tokens[at] ?? "";
    const before = tokens[at - 1] ?? "";
    const after = tokens[at + 1] ?? "";
    if (one === "if") {
      const end = endOfCondition(tokens, at + 1);
      choosers.push(tokens.slice(at + 1, end));
      at = end - 1;
    } else if (one === "[" && isOperand(before)) {
      const end = closing(tokens, at);
      const inside = tokens.slice(at + 1, end);
      // A slice takes a part of a text.
      if (!hasAtTop(inside, ":")) {
        choosers.push(inside);
        at = end;
      }
    } else if (word.test(one)) {
      const isTest = before === "is" || (before === "not" && tokens[at - 2] === "is");
      if (keywords.has(one) || before === "." || before === "|" || isTest || after === "=") continue;
      const fixed = fixedLength(tokens, at);
      if (fixed > 0) {
        at += fixed - 1;
        continue;
      }
      const attribute = after === "." ? tokens[at + 2] : undefined;
      const called = attribute === undefined ? after : tokens[at + 3];
      names.push({ name: one, attribute, isCalled: called === "(" });
    } else if (!/^[\x21-\x7e]/.test(one)) isStrange = true;
  }
  return { names, choosers, isStrange };
}

/** How many tokens at this place are the peel's real id, or a look into the settings, which are empty here. */
function fixedLength(tokens: Tokens, at: number): number {
  const [name = "", open = "", key = "", close = ""] = tokens.slice(at, at + 4);
  const after = tokens[at + 3];
  if (name === "facts" || name === "grains") {
    if (open === "." && key === "id" && after !== "(") return 3;
    if (open === "[" && /^['"]id['"]$/.test(key) && close === "]") return 4;
  }
  if ((name === "salt" || name === "svc") && open === "[" && close === "]") {
    if (/^['"](?:pillar|settings)\.get['"]$/.test(key)) return 4;
    const isId =
      tokens[at + 4] === "(" && /^['"]id['"]$/.test(tokens[at + 5] ?? "") && tokens[at + 6] === ")";
    if (/^['"](?:grains|facts)\.get['"]$/.test(key) && isId) return 7;
  }
  return 0;
}

/** The index after a condition that begins here: of its `else`, of the closing bracket, or the end. */
function endOfCondition(tokens: Tokens, from: number): number {
  for (let at = from, depth = 0; at < tokens.length; at++) {
    const one = tokens[at] ?? "";
    if (Object.hasOwn(pairs, one)) depth++;
    else if (one === ")" || one === "]" || one === "}") {
      if (depth === 0) return at;
      depth--;
    } else if (depth === 0 && (one === "else" || one === "," || one === "recursive")) return at;
  }
  return tokens.length;
}

function isOperand(token: string): boolean {
  return /^[)\]}"']/.test(token) || (word.test(token) && !keywords.has(token));
}

/** The index of the bracket that closes the one at this index. */
export function closing(tokens: Tokens, open: number): number {
  for (let at = open, depth = 0; at < tokens.length; at++) {
    const one = tokens[at] ?? "";
    if (Object.hasOwn(pairs, one)) depth++;
    else if ((one === ")" || one === "]" || one === "}") && --depth === 0) return at;
  }
  return tokens.length;
}

/** Splits at this token, where it is in no bracket. */
export function splitAtTop(tokens: Tokens, separator: string): Tokens[] {
  const parts: string[][] = [[]];
  for (let at = 0; at < tokens.length; at++) {
    const one = tokens[at] ?? "";
    if (one === separator) parts.push([]);
    else if (Object.hasOwn(pairs, one)) {
      const end = closing(tokens, at);
      parts.at(-1)?.push(...tokens.slice(at, end + 1));
      at = end;
    } else parts.at(-1)?.push(one);
  }
  return parts;
}

function hasAtTop(tokens: Tokens, wanted: string): boolean {
  return splitAtTop(tokens, wanted).length > 1;
}

/** The expression without its filters, and the filters from the left, each with its arguments. */
export function filtersOf(tokens: Tokens): { base: Tokens; filters: readonly Tokens[] } {
  const [base = [], ...filters] = splitAtTop(tokens, "|");
  const areFilters = filters.every(([name = "", ...rest]) => {
    return (
      word.test(name) && (rest.length === 0 || (rest[0] === "(" && closing(rest, 0) === rest.length - 1))
    );
  });
  // After an operator or a condition a filter belongs to the last operand alone.
  return areFilters && isOneOperand(base) ? { base, filters } : { base: tokens, filters: [] };
}

/** A name, a text, or something in brackets, with whatever is looked up or called on it. */
function isOneOperand(tokens: Tokens): boolean {
  const [first = ""] = tokens;
  if (keywords.has(first) && !/^(?:true|false|none)$/i.test(first)) return false;
  let at = Object.hasOwn(pairs, first)
    ? closing(tokens, 0) + 1
    : /^["'\w]/.test(first)
      ? 1
      : tokens.length + 1;
  while (at < tokens.length) {
    const one = tokens[at] ?? "";
    if (one === "." && word.test(tokens[at + 1] ?? "")) at += 2;
    else if (one === "(" || one === "[") at = closing(tokens, at) + 1;
    else return false;
  }
  return at === tokens.length;
}
