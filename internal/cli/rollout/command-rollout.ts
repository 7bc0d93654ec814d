import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { rolloutDoors } from "../../fleet/rollout/doors.ts";
import { type RolloutSummary, rolloutOperations } from "../../fleet/rollout/mod.ts";
import { type Cli, word } from "../../program/command-line/mod.ts";
import { withHint } from "../hints.ts";
import { fullId } from "../ids/full-id.ts";
import { NoMaster, request } from "../request.ts";

/** How long one master has to answer a command, and the number of attempts. */
const timeoutMs = 2_000;
const attempts = 5;

export const idArg = word("Rollout id, rol-…", { required: true, ids: "rollouts" });

/**
 * Pauses, resumes or aborts a rollout. The request is repeated when nobody answers: the bus may have chosen a
 * master that is frozen, perhaps the very one that drives the rollout, and repeating it does no harm.
 *
 * @throws NoMaster when no master serves rollouts
 * @throws SvcError what the master answered, or `unavailable` when none did
 */
export async function commandRollout(
  bus: Bus,
  action: "pause" | "resume" | "abort",
  text: string,
  cli: Pick<Cli, "say">,
): Promise<RolloutSummary> {
  const input = { id: await rolloutId(text, bus, cli) };
  for (let attempt = 1; ; attempt++) {
    try {
      return (await request(bus, rolloutOperations[`${action}Rollout`], input, { timeoutMs })).rollout;
    } catch (thrown) {
      const isSilence = thrown instanceof SvcError && thrown.kind === "unavailable";
      if (!isSilence || thrown instanceof NoMaster || attempt === attempts) throw thrown;
    }
  }
}

/** The whole id of a rollout that an operator named. @throws SvcError `not_found` for what is not one */
export async function rolloutId(text: string, bus: Bus, cli: Pick<Cli, "say">): Promise<string> {
  const id = await fullId("rol", text, bus, cli);
  if (isId("rol", id)) return id;
  throw withHint(rolloutDoors.getRollout.hints.svc, new SvcError("not_found", "the rollout does not exist"));
}
