import { findAccountIfPresent } from "../../base/process/account.ts";
import { cleanEnvironment } from "../../base/process/environment.ts";
import { runProcess } from "../../base/process/process.ts";
import type { Condition, LowState, StateContext } from "../function/mod.ts";

/**
 * Evaluates `onlyif` and `unless` of a state: it runs when every `onlyif` condition holds and not all
 * `unless` conditions do.
 *
 * @returns the argument that keeps the state from running
 * @throws SvcError when a condition cannot be evaluated
 */
export async function refusedBy(
  { onlyif, unless }: Pick<LowState, "onlyif" | "unless">,
  context: StateContext,
): Promise<"onlyif" | "unless" | undefined> {
  for (const condition of onlyif) {
    if (!(await holds(condition, context))) return "onlyif";
  }
  for (const condition of unless) {
    if (!(await holds(condition, context))) return undefined;
  }
  return unless.length > 0 ? "unless" : undefined;
}

/** Whether a command exits with 0, or a function returns something. */
export async function holds(condition: Condition, context: StateContext): Promise<boolean> {
  if (typeof condition === "boolean") return condition;
  if (typeof condition !== "string") return Boolean(await context.call(condition.fun, condition.args));
  const { clock, signal } = context;
  const account = await findAccountIfPresent(`${process.getuid?.()}`, { clock, signal });
  const { code } = await runProcess({
    argv: ["/bin/sh", "-c", condition],
    env: { ...cleanEnvironment(account), ...Object.fromEntries(context.environment) },
    cwd: "/",
    clock,
    signal,
  });
  signal.throwIfAborted();
  return code === 0;
}
