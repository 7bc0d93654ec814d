import { SvcError } from "../../base/errors.ts";
import { parseTarget } from "../../tree/targets/mod.ts";

// The parser of the language itself, in a file of the bundle that only pages with a target load.

/** What is wrong with an expression, with the column; `undefined` when nothing is. */
export function problemOf(text: string): string | undefined {
  try {
    parseTarget(text);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof SvcError) return thrown.message.replace(/^target: /, "");
    throw thrown;
  }
}

/** The column that a problem names, from 1. */
export function columnOf(problem: string): number | undefined {
  const [, column] = /^column (\d+):/.exec(problem) ?? [];
  return column === undefined ? undefined : Number(column);
}
