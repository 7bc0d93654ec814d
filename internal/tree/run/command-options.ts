import { defined } from "../../base/defined.ts";
import { parseDuration } from "../../base/duration.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { LowState } from "../function/mod.ts";
import { environmentOf, timeoutOf } from "../functions/mod.ts";

/** How the commands of `unless` and `onlyif` of a state run. */
export interface CommandOptions {
  cwd?: string;
  /** Name or uid. */
  runas?: string;
  shell?: string;
  env?: { [name: string]: Plain };
  umask?: number;
  timeoutMs?: number;
  /** Exit codes that count as 0. */
  codes: readonly Plain[];
}

/**
 * Commands of a state's conditions run as its own command does: the same directory, user and variables. The shell is
 * only that of `cmd.*`, because that of a user is another thing.
 */
export function commandOptionsOf({
  function: called,
  args,
}: Pick<LowState, "function" | "args">): CommandOptions {
  const { cwd, runas, shell, env, umask, timeout, success_retcodes: codes } = args;
  const limit = timeout === undefined ? undefined : timeoutOf(timeout);
  return {
    codes: Array.isArray(codes) ? codes : [],
    ...defined({
      cwd: textOf(cwd),
      runas: textOf(runas),
      shell: called.startsWith("cmd.") ? textOf(shell) : undefined,
      env: env === undefined ? undefined : environmentOf(env),
      umask: /^[0-7]{1,4}$/.test(textOf(umask) ?? "") ? Number.parseInt(`${umask}`, 8) : undefined,
      timeoutMs: limit === undefined ? undefined : parseDuration(limit),
    }),
  };
}

function textOf(value: Plain | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
