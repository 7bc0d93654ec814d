import { decodeRolloutReply } from "../../admin/rollout-message.ts";
import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connect.ts";
import { type RolloutAction, rolloutSubject } from "../../bus/subjects.ts";
import type { RolloutSummary } from "../../rollout/show.ts";
import { askMasters } from "../ask-masters.ts";

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
): Promise<T> {
  const answer = await askMasters(bus, rolloutSubject(action), request, read);
  if (answer === undefined) throw new SvcError("unavailable", "no master is answering: start svc-master");
  return answer;
}

/** Pauses, resumes or aborts a rollout. @throws SvcError as `askAboutRollouts` */
export function commandRollout(
  bus: Bus,
  action: "pause" | "resume" | "abort",
  id: string,
): Promise<RolloutSummary> {
  return askAboutRollouts(bus, action, { id: checkedId(id) }, decodeRolloutReply);
}

/** @throws SvcError `not_found` for what is no id of a rollout */
export function checkedId(id: string): string {
  if (isId("rol", id)) return id;
  throw new SvcError("not_found", "no rollout with this id: see svc rollout list");
}
