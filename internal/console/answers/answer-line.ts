import type { Plain } from "../../base/msgpack.ts";
import { outputOf, showValue, textLines } from "../../program/answers/mod.ts";

const maxText = 200;

/** What a peel answered: what its function returned, and why it failed. */
export interface Answered {
  return?: unknown;
  error?: string;
}

/**
 * An answer in one line: of a command what it wrote first, of states their counts. Of one that failed why, with what
 * the command wrote on its standard error.
 */
export function answerLine({ return: value, error }: Answered): string {
  if (value === undefined) return cutLine(textLines(error ?? ""));
  const plain = value as Plain;
  const output = outputOf(plain);
  if (error !== undefined) {
    const said = output === undefined ? [] : textLines(output.stderr === "" ? output.stdout : output.stderr);
    const [first = ""] = said;
    const cell = output === undefined ? showValue(plain).states?.counts : undefined;
    const more = first || cell;
    return cutLine(more ? [`${error}: ${more}`, ...said.slice(1)] : textLines(error));
  }
  const { cell, details } = showValue(plain);
  return cutLine(cell === "" ? details : [cell]);
}

function cutLine([line = "", ...more]: readonly string[]): string {
  return more.length > 0 || line.length > maxText ? `${line.slice(0, maxText)} …` : line;
}
