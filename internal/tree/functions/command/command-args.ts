import { parseDuration } from "../../../base/duration.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { type ArgSpec, arg, type ValuesOf } from "../../../host/modules/mod.ts";

/** How the command of a state runs. */
export const commandArgs = {
  cwd: arg.path("Directory to run in; / by default."),
  runas: arg.string("Name or uid of the user to run as; the user of the peel by default."),
  shell: arg.path("The shell that reads the command line; /bin/sh by default."),
  env: arg.any("Variables to add to the clean environment: a map, or a list of maps."),
  umask: arg.mode("Umask of the command; that of the peel by default."),
  stdin: arg.string("Standard input of the command; empty by default."),
  timeout: arg.any("Stops the command after this duration, such as 90s; a number is seconds."),
  creates: arg.strings("Does not run the command if all of these paths exist."),
  success_retcodes: arg.any("Additional exit codes that count as success: a list of integers."),
  hide_output: arg.boolean("Omits the output of the command from the result; false by default."),
  stateful: arg.any(
    "With true, the output says whether something changed. The last line has name=value pairs, such as changed=yes comment='two users added', or all of it is a JSON object. A list with test_name has in addition the command that a test run runs, which must not change anything.",
  ),
} as const satisfies Record<string, ArgSpec>;

export type CommandArgs = ValuesOf<typeof commandArgs>;

/** Variables that a command gets: a map, or a list of maps. @returns undefined for anything else */
export function environmentOf(env: Plain): { [name: string]: Plain } | undefined {
  const maps = Array.isArray(env) ? env : [env];
  return maps.every(isMap) ? Object.assign({}, ...maps) : undefined;
}

/** How long a command may take: a duration, or a number of seconds. @returns undefined for anything else */
export function timeoutOf(timeout: Plain): string | undefined {
  if (typeof timeout === "number") return timeout > 0 ? `${Math.ceil(timeout * 1000)}ms` : undefined;
  if (typeof timeout !== "string") return undefined;
  try {
    parseDuration(timeout);
    return timeout;
  } catch {
    return undefined;
  }
}
