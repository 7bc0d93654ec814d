import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { RestWords } from "../../program/command-line/mod.ts";
import { readCommandLine } from "./arguments.ts";
import type { ModuleFunction } from "./function.ts";
import { checkCall, functionNamed } from "./registry.ts";

/**
 * Reads a function and its arguments from the command line, so that a mistake is reported before anything
 * is sent.
 *
 * @throws SvcError `usage` naming the function or the argument, with the nearest valid name
 */
export function readCall(
  name: string,
  { words, literal }: RestWords,
): { function: string; args: Record<string, Plain> } {
  try {
    const called = functionNamed(name);
    const args = withLiteral(called, words, literal);
    checkCall(name, args);
    return { function: name, args };
  } catch (thrown) {
    throw thrown instanceof SvcError ? new SvcError("usage", thrown.message) : thrown;
  }
}

/**
 * Adds the words behind `--`, in which `=` and `,` mean nothing: together they are the first list that was
 * not given, such as the words of a command; without one they are the next arguments.
 */
function withLiteral(
  called: ModuleFunction,
  words: readonly string[],
  literal: readonly string[],
): Record<string, Plain> {
  const args = readCommandLine(called, words);
  if (literal.length === 0) return args;
  const free = Object.entries(called.args).filter(([name]) => args[name] === undefined);
  const list = free.find(([, { type }]) => type === "strings");
  if (list !== undefined) return { ...args, [list[0]]: [...literal] };
  const named = literal.map((word, i) => (free[i] === undefined ? word : `${free[i][0]}=${word}`));
  return readCommandLine(called, [...words, ...named]);
}
