import { SvcError } from "../../base/errors.ts";

/**
 * Splits a command into words as a POSIX shell does, without expanding anything.
 *
 * @throws SvcError `bad_request` for a quote without its end
 */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [part] of line.matchAll(/\s+|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s'"\\]+|['"\\]/g)) {
    if (/^\s/.test(part)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (/^['"\\]$/.test(part)) {
      throw new SvcError("bad_request", "cmd: a quote has no end");
    } else word = (word ?? "") + unquoted(part);
  }
  return word === undefined ? words : [...words, word];
}

function unquoted(part: string): string {
  if (part.startsWith("'")) return part.slice(1, -1);
  if (part.startsWith('"')) return part.slice(1, -1).replace(/\\([\\"$`\n])/g, "$1");
  return part.startsWith("\\") ? part.slice(1) : part;
}
