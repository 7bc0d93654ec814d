import { attempt } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import type { Documented, DocumentedArg } from "./documented.ts";

/** Arguments as they are sent, and what is wrong with what was typed, by argument. */
export interface ReadArgs {
  args: Record<string, Plain>;
  problems: Record<string, string>;
}

/** Reads what was typed into the form of a function. An empty field is an argument that is not given. */
export function readArgs(
  { args: specs }: Pick<Documented, "args">,
  typed: Readonly<Record<string, string>>,
): ReadArgs {
  const read: ReadArgs = { args: {}, problems: {} };
  for (const spec of specs) {
    const text = typed[spec.name] ?? "";
    if (text.trim() === "") {
      if (spec.required) read.problems[spec.name] = "is required";
      continue;
    }
    const value = readValue(spec, text);
    if (value instanceof Error) read.problems[spec.name] = value.message;
    else read.args[spec.name] = value;
  }
  return read;
}

function readValue({ type }: DocumentedArg, text: string): Plain | Error {
  switch (type) {
    case "integer":
      return /^\s*-?\d+\s*$/.test(text) ? Number(text) : new Error("must be a whole number");
    case "number":
      return Number.isFinite(Number(text)) ? Number(text) : new Error("must be a number");
    case "boolean":
      return text === "true";
    case "strings":
      return text.split("\n").filter((line) => line !== "");
    case "map": {
      const value = jsonOf(text);
      return isMap(value) ? value : new Error('must be a JSON object, such as {"name": "value"}');
    }
    case "any": {
      // A word needs no quotes.
      const value = jsonOf(text);
      return value === undefined ? text : value;
    }
    default:
      return text;
  }
}

function jsonOf(text: string): Plain | undefined {
  return attempt(() => JSON.parse(text) as Plain);
}
