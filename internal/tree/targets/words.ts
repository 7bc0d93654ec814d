import { SvcError } from "../../base/errors.ts";

/** A token of a target expression, with its column, counted from 1. */
export type Token = { readonly at: number } & (
  | { readonly kind: "(" | ")" | "and" | "or" | "not" | "end" }
  | {
      readonly kind: "word";
      /** The text without the quotes. */
      readonly text: string;
    }
);

const operators = ["and", "or", "not"] as const;
/** A matcher whose value is a regular expression, in which parentheses have another meaning. */
const regexWord = /^[EP]@/;

/**
 * Splits an expression into words, parentheses and operators. White space ends a word, and so does a
 * parenthesis, except inside a regular expression (`E@`, `P@`) that opened it. In quotes, `'` or `"`, both
 * are ordinary characters, and a quoted word is never an operator.
 *
 * @param name the name of the text in messages
 * @throws SvcError `bad_request` with the column of an unclosed quote
 */
export function tokensOf(text: string, name: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text[at] ?? "";
    if (/\s/.test(character)) {
      at++;
    } else if (character === "(" || character === ")") {
      tokens.push({ kind: character, at: ++at });
    } else {
      const { word, quoted, end } = readWord(text, at, name);
      const operator = quoted ? undefined : operators.find((candidate) => candidate === word);
      tokens.push(operator ? { kind: operator, at: at + 1 } : { kind: "word", text: word, at: at + 1 });
      at = end;
    }
  }
  tokens.push({ kind: "end", at: text.length + 1 });
  return tokens;
}

function readWord(text: string, start: number, name: string): { word: string; quoted: boolean; end: number } {
  let word = "";
  let quoted = false;
  let open = 0;
  let inSet = false;
  let at = start;
  while (at < text.length) {
    const character = text[at] ?? "";
    if (/\s/.test(character)) break;
    if (character === "'" || character === '"') {
      const close = text.indexOf(character, at + 1);
      if (close < 0) {
        throw new SvcError("bad_request", `${name}: column ${at + 1}: the quote ${character} is not closed`);
      }
      word += text.slice(at + 1, close);
      quoted = true;
      at = close + 1;
      continue;
    }
    const inRegex = regexWord.test(word);
    if (!inRegex && (character === "(" || character === ")")) break;
    if (inRegex && character === "\\") {
      const next = text[at + 1] ?? "";
      const taken = /[\s'"]/.test(next) ? character : character + next;
      word += taken;
      at += taken.length;
      continue;
    }
    if (inRegex && inSet) inSet = character !== "]";
    else if (inRegex && character === "[") inSet = true;
    else if (inRegex && character === "(") open++;
    else if (inRegex && character === ")" && --open < 0) break;
    word += character;
    at++;
  }
  return { word, quoted, end: at };
}

/**
 * Whether an expression itself chooses by settings; what its node groups do is decided by the files of the masters. No
 * pattern is compiled for it, and one that cannot be parsed has no answer yet.
 */
export const namesSetting = (text: string): boolean => wordsOf(text).some((word) => word.startsWith("I@"));

/** The names of the labels by which an expression itself chooses, as `namesSetting` reads it. */
export function labelsIn(text: string): string[] {
  return wordsOf(text).flatMap((word) => /^T@([^:]+)/.exec(word)?.[1] ?? []);
}

function wordsOf(text: string): string[] {
  try {
    return tokensOf(text, "target").flatMap((token) => (token.kind === "word" ? [token.text] : []));
  } catch (thrown) {
    if (thrown instanceof SvcError) return [];
    throw thrown;
  }
}
