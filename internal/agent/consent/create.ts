import type { Clock } from "../../base/clock.ts";
import { quote } from "../../base/cut.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { functionNames } from "../../host/modules/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import type { Administrator } from "../../wire/administrators.ts";
import { type Call, decodeReleased } from "../../wire/call.ts";
import type { Command } from "../../wire/command.ts";
import type { OfferedReleases, OwnReleases } from "../releases/mod.ts";
import { type Consent, isAutomatic, judgeDispatch, judgeStop } from "./judge.ts";
import { orRefusal, type Refusal, refuse } from "./refusal.ts";
import { withNewestRelease } from "./released-files.ts";

/** Judges the commands of masters, and calls of the peel itself, on a peel that obeys operators only. */
export interface Insistence {
  dispatch(command: Command, call: Call): Consent | Refusal;
  /** @param isAutomatic whether the job runs without an operator */
  stop(command: Command, isAutomatic: boolean): { by: "automation" | "operator" } | Refusal;
  /**
   * Judges a call of this peel itself: of its schedule, or at its start.
   *
   * @returns the call with exactly the files that are released
   */
  own(call: Call): Call | Refusal;
  /** The greatest release of each environment that this peel took. */
  readonly releases: readonly Uint8Array[];
  /** Takes releases and records that masters send. @returns whether one is new */
  learn(offered: OfferedReleases): boolean;
}

export interface InsistenceOptions {
  administrators: { readonly current: readonly Administrator[] };
  config: Pick<PeelConfig, "automation_functions" | "operator_roles" | "release_roles">;
  releases: OwnReleases;
  clock: Pick<Clock, "now">;
}

/** `require_operator: on`. */
export function createInsistence({ administrators, config, releases, clock }: InsistenceOptions): Insistence {
  const rules = () => ({
    administrators: administrators.current,
    automationFunctions: config.automation_functions,
    operatorRoles: config.operator_roles,
    releaseRoles: config.release_roles,
    releases,
    now: clock.now(),
  });
  const learn = (offered: OfferedReleases) => {
    try {
      return releases.take(offered);
    } catch (thrown) {
      return refuse(`this peel cannot store which state files are released: ${describeError(thrown)}`);
    }
  };
  return {
    dispatch: (command, call) =>
      orRefusal(() => {
        // Each release and record proves itself, whatever becomes of the command.
        learn(decodeReleased(command.body));
        return judgeDispatch(command, call, rules());
      }),
    stop: (command, isAutomatic) => judgeStop(command, isAutomatic, rules()),
    own: (call) => orRefusal(() => withNewestRelease(call, { releases })),
    get releases() {
      return releases.current;
    },
    learn: (offered) => releases.take(offered),
  };
}

/** @throws SvcError `bad_request` for a pattern that matches no function */
export function checkAutomation(patterns: readonly string[]): void {
  for (const pattern of patterns) {
    if (functionNames.some((name) => isAutomatic(name, [pattern]))) continue;
    const shown = quote(pattern, 60);
    throw new SvcError(
      "bad_request",
      `automation_functions: ${shown} matches no function${suggestion(pattern, functionNames)}`,
    );
  }
}
