import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connect.ts";
import { type RolloutAction, rolloutSubject } from "../../bus/subjects.ts";
import type { RolloutSummary } from "../../fleet/rollout/show.ts";
import { decodeRolloutReply } from "../../master/doors/bus/rollout-message.ts";
import { askMasters } from "../ask-masters.ts";

const noMaster = "no master is answering: start svc-master";
/** How long one master has to answer a command, and how many are asked. */
const patienceMs = 2_000;
const attempts = 5;

export const idArg = {
  type: "positional",
  required: true,
  description: "Rollout id, rol-…",
  ids: "rollouts",
} as const;

/**
 * Asks the masters something about rollouts; one of them answers.
 *
 * @param read reads the reply
 * @throws SvcError what the master answered, or `unavailable` when none did
 */
export async function askAboutRollouts<T>(
  bus: Bus,
  action: RolloutAction,
  request: Readonly<Record<string, Plain | undefined>>,
  read: (reply: Uint8Array) => T,
  timeoutMs?: number,
): Promise<T> {
  const answer = await askMasters(bus, rolloutSubject(action), request, read, timeoutMs);
  if (answer === undefined) throw new SvcError("unavailable", noMaster);
  return answer;
}

/**
 * Pauses, resumes or aborts a rollout. It is asked for again when nobody answers: the bus may have chosen a
 * master that is frozen, perhaps the very one that drives the rollout, and asking twice does no harm.
 *
 * @throws SvcError as `askAboutRollouts`
 */
export async function commandRollout(
  bus: Bus,
  action: "pause" | "resume" | "abort",
  id: string,
): Promise<RolloutSummary> {
  const request = { id: checkedId(id) };
  for (let attempt = 1; ; attempt++) {
    try {
      return await askAboutRollouts(bus, action, request, decodeRolloutReply, patienceMs);
    } catch (thrown) {
      const isSilence = thrown instanceof SvcError && thrown.kind === "unavailable";
      if (!isSilence || thrown.message === noMaster || attempt === attempts) throw thrown;
    }
  }
}

/** @throws SvcError `not_found` for what is no id of a rollout */
export function checkedId(id: string): string {
  if (isId("rol", id)) return id;
  throw new SvcError("not_found", "no rollout with this id: see svc rollout list");
}
