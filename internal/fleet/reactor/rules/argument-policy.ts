import type { Plain } from "../../../base/msgpack.ts";
import type { CallArgs, ModuleFunction } from "../../../host/modules/mod.ts";
import { isPlaceholder, placeholdersOf } from "./placeholder.ts";
import { inputProblem, wordsOfShell, wordsProblem } from "./program-words.ts";

/** What to do about an argument that may not take event data. */
export const waysOut =
  "pass the value whole, on stdin or in a variable EVENT_*, or set unsafe: true in the rule to trust the events";
/** A place in an argument where event data is not allowed. */
export interface Refusal {
  /** The item of a list, or the name in a map. */
  readonly item?: number | string;
  readonly reason: string;
}

/**
 * Where placeholders are not allowed in an argument of a job. Event data may be used as text, but must not
 * control what the job does: no program, path, user, package, state or binary comes from it. An argument takes
 * event data if its function declares so, and then only as a whole value.
 *
 * @param args all arguments, as the rule has them
 */
export function placeholderRefusals(called: ModuleFunction, name: string, args: CallArgs): Refusal[] {
  const value = args[name] ?? null;
  const used = allPlaceholders(value);
  if (used.length === 0) return [];
  const spec = Object.hasOwn(called.args, name) ? called.args[name] : undefined;
  switch (spec?.data) {
    case undefined: {
      const what = name === "command" ? "a shell runs the text" : "the sender of the event would control it";
      return [{ reason: `placeholders are not allowed here: ${what}` }];
    }
    case "words":
      return wordRefusals(value);
    case "variables":
      return variableRefusals(value);
    case "input": {
      const problem = Array.isArray(args.argv)
        ? inputProblem(args.argv, "program")
        : inputProblem(wordsOfShell(String(args.command ?? "")), "shell");
      if (problem !== undefined) return [{ reason: `placeholders are not allowed here: ${problem}` }];
      break;
    }
    case "text":
    case "name":
  }
  return isWhole(value) ? [] : [{ reason: "a placeholder must be the whole value, not a part of a text" }];
}

/** Arguments of a program: only whole words after `--`, which a program does not read as options. */
function wordRefusals(argv: Plain): Refusal[] {
  if (!Array.isArray(argv)) return [{ reason: "a placeholder cannot replace all of argv: write a list" }];
  const problem = wordsProblem(argv);
  const end = argv.indexOf("--", 1);
  const reasonFor = (word: Plain, item: number): string | undefined => {
    if (item === 0) return "a placeholder cannot be the program";
    if (problem !== undefined) return `placeholders are not allowed here: ${problem}`;
    if (typeof word !== "string" || !isPlaceholder(word)) {
      return "a placeholder must be a whole word, not a part of one";
    }
    return end >= 0 && end < item ? undefined : "the program would read it as an option: write -- before it";
  };
  return argv.flatMap((word, item): Refusal[] => {
    const [placeholder] = allPlaceholders(word);
    const reason = placeholder === undefined ? undefined : reasonFor(word, item);
    // A list is often on one line, so that the place does not say which.
    return reason === undefined
      ? []
      : [{ item, reason: `item ${item + 1} (\${${placeholder?.slice(0, 60)}}): ${reason}` }];
  });
}

/** Many other variables make a program run or load code. */
function variableRefusals(env: Plain): Refusal[] {
  if (env === null || typeof env !== "object" || Array.isArray(env) || env instanceof Uint8Array) {
    return [{ reason: "a placeholder cannot replace all of env: write a map" }];
  }
  return Object.entries(env).flatMap(([item, value]): Refusal[] => {
    if (allPlaceholders(value).length === 0) return [];
    if (!/^EVENT_[A-Z0-9_]+$/.test(item)) {
      const name = item.slice(0, 60);
      return [
        {
          item,
          reason: `placeholders are not allowed in ${name}: name a variable with event data EVENT_NAME`,
        },
      ];
    }
    if (typeof value === "string" && isPlaceholder(value)) return [];
    return [{ item, reason: `${item}: a placeholder must be the whole value, not a part of a text` }];
  });
}

/** Whether each text with a placeholder in a value is that placeholder and nothing else. */
function isWhole(value: Plain): boolean {
  if (typeof value === "string") return placeholdersOf(value).length === 0 || isPlaceholder(value);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return true;
  if (Array.isArray(value)) return value.every(isWhole);
  return Object.entries(value).every(([key, item]) => placeholdersOf(key).length === 0 && isWhole(item));
}

/** All placeholders in a value, including nested values and keys. */
export function allPlaceholders(value: Plain): string[] {
  if (typeof value === "string") return placeholdersOf(value);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return [];
  if (Array.isArray(value)) return value.flatMap(allPlaceholders);
  return Object.entries(value).flatMap(([key, item]) => [...placeholdersOf(key), ...allPlaceholders(item)]);
}
