import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { functionNames } from "../../host/modules/mod.ts";
import type { Administrator } from "../../wire/administrators.ts";
import type { Call } from "../../wire/call.ts";
import type { Command } from "../../wire/command.ts";
import { type Consent, isAutomatic, judgeDispatch, judgeStop } from "./judge.ts";
import type { Refusal } from "./refusal.ts";

/** Judges the commands of masters, on a peel that obeys operators only. */
export interface Insistence {
  dispatch(command: Command, call: Call): Consent | Refusal;
  /** @param isAutomatic whether the job runs without an operator */
  stop(command: Command, isAutomatic: boolean): { by: "automation" | "operator" } | Refusal;
}

/** `require_operator: on`. */
export function createInsistence({
  administrators,
  automationFunctions,
  clock,
}: {
  administrators: { readonly current: readonly Administrator[] };
  automationFunctions: readonly string[];
  clock: Pick<Clock, "now">;
}): Insistence {
  const rules = () => ({ administrators: administrators.current, automationFunctions, now: clock.now() });
  return {
    dispatch: (command, call) => judgeDispatch(command, call, rules()),
    stop: (command, isAutomatic) => judgeStop(command, isAutomatic, rules()),
  };
}

/** @throws SvcError `bad_request` for a pattern that matches no function */
export function checkAutomation(patterns: readonly string[]): void {
  for (const pattern of patterns) {
    if (functionNames.some((name) => isAutomatic(name, [pattern]))) continue;
    const shown = JSON.stringify(pattern.slice(0, 60));
    throw new SvcError(
      "bad_request",
      `automation_functions: ${shown} matches no function${suggestion(pattern, functionNames)}`,
    );
  }
}
