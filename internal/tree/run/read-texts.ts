import type { Plain } from "../../base/msgpack.ts";
import { type CallArgs, readArgument } from "../../host/modules/mod.ts";
import { stateRegistry } from "../functions/mod.ts";

/**
 * Converts the arguments of a state from a command line, where everything is text, to the types of the
 * arguments.
 *
 * @throws SvcError `bad_request` naming the argument
 */
export async function readTexts(called: string, args: CallArgs): Promise<CallArgs> {
  const module = called.slice(0, Math.max(0, called.indexOf(".")));
  const found = (await stateRegistry.functionsOf(module)).find(({ name }) => name === called);
  if (found === undefined) return args;
  const read = Object.entries(args).map(([name, value]): [string, Plain] => {
    const isText = typeof value === "string" && Object.hasOwn(found.args, name);
    return [name, isText ? readArgument(found, name, value) : value];
  });
  return Object.fromEntries(read);
}
