import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { findAccount, findAccountIfPresent } from "../../base/process/account.ts";
import { cleanEnvironment } from "../../base/process/environment.ts";
import { runProcess } from "../../base/process/process.ts";
import type { Condition, LowState, StateContext } from "../function/mod.ts";
import { type CommandOptions, commandOptionsOf } from "./command-options.ts";

/** Why a state does not run. */
export interface Refusal {
  argument: "onlyif" | "unless";
  /** Why its command could not be started, if that is the reason. */
  problem?: string;
}

/**
 * Evaluates `onlyif` and `unless` of a state: it runs when every `onlyif` condition holds and not all
 * `unless` conditions do. As in Salt, it does not run when the command of a condition cannot be started, for example
 * because its directory is missing.
 *
 * @returns what keeps the state from running
 * @throws SvcError when a function of a condition fails
 */
export async function refusedBy(
  state: Pick<LowState, "function" | "args" | "onlyif" | "unless">,
  context: StateContext,
): Promise<Refusal | undefined> {
  const { onlyif, unless } = state;
  if (onlyif.length === 0 && unless.length === 0) return undefined;
  const options = commandOptionsOf(state);
  for (const condition of onlyif) {
    const held = await evaluate(condition, options, context);
    if (held !== true) return { argument: "onlyif", ...defined({ problem: held.problem }) };
  }
  for (const condition of unless) {
    const held = await evaluate(condition, options, context);
    if (held === true) continue;
    return held.problem === undefined ? undefined : { argument: "unless", problem: held.problem };
  }
  return unless.length > 0 ? { argument: "unless" } : undefined;
}

/** Whether a command for /bin/sh exits with 0. @throws SvcError when it cannot be started */
export async function succeeds(command: string, context: StateContext): Promise<boolean> {
  return runCommand(command, { codes: [] }, context);
}

type Held = true | { problem?: string };

async function evaluate(condition: Condition, options: CommandOptions, context: StateContext): Promise<Held> {
  if (typeof condition === "boolean") return condition || {};
  if (typeof condition !== "string") {
    return Boolean(await context.call(condition.fun, condition.args)) || {};
  }
  try {
    return (await runCommand(condition, options, context)) || {};
  } catch (thrown) {
    if (context.signal.aborted || !(thrown instanceof SvcError)) throw thrown;
    return { problem: thrown.message };
  }
}

async function runCommand(
  command: string,
  { cwd = "/", runas, shell = "/bin/sh", env = {}, umask, timeoutMs, codes }: CommandOptions,
  context: StateContext,
): Promise<boolean> {
  const { clock, signal } = context;
  const account = runas === undefined ? undefined : await findAccount(runas, { clock, signal });
  const owner = account ?? (await findAccountIfPresent(`${process.getuid?.()}`, { clock, signal }));
  const variables = { ...cleanEnvironment(owner), ...Object.fromEntries(context.environment), ...env };
  const { code, stopped } = await runProcess({
    argv: [shell, "-c", command],
    // As in cmd.run, null takes a variable away.
    env: Object.fromEntries(
      Object.entries<Plain>(variables).flatMap(([name, value]) =>
        value === null ? [] : [[name, String(value)]],
      ),
    ),
    cwd,
    clock,
    signal,
    ...defined({ account, umask, timeoutMs }),
  });
  signal.throwIfAborted();
  return stopped === undefined && (code === 0 || codes.includes(code));
}
