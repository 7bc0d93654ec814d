import { SvcError } from "../base/errors.ts";
import { suggestion } from "../base/nearest.ts";
import type { ModuleFunction } from "./function.ts";
import { testFunctions } from "./test.ts";

const functions = new Map<string, ModuleFunction>(testFunctions.map((entry) => [entry.name, entry]));

/**
 * Looks a function up and checks the names of its arguments.
 *
 * @throws SvcError `bad_request` naming the function or the argument, with the nearest valid name
 */
export function checkCall(name: string, args: Readonly<Record<string, unknown>>): ModuleFunction {
  const found = functions.get(name);
  if (found === undefined) {
    throw new SvcError(
      "bad_request",
      `unknown function ${quote(name)}${suggestion(name, [...functions.keys()])}`,
    );
  }
  for (const arg of Object.keys(args)) {
    if (!found.args.includes(arg)) {
      throw new SvcError(
        "bad_request",
        `${name} has no argument ${quote(arg)}${suggestion(arg, found.args)}`,
      );
    }
  }
  return found;
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
