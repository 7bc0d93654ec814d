import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { decodeRollout, encodeRollout, isLive, type Rollout } from "./record.ts";

export interface CommandDeps {
  rollouts: Bucket;
  /** The name of this master. */
  self: string;
  clock: Clock;
  log: Log;
}

/**
 * Prevents further waves. The current wave, or one whose job is being created, runs to its end. A paused
 * rollout stays unchanged.
 *
 * @throws SvcError `not_found`, also for a malformed id; `conflict` when it has ended, or is being aborted
 */
export function pause(deps: CommandDeps, id: string, operator: string): Promise<Rollout> {
  return change(deps, "pause", id, operator, (rollout) => {
    if (rollout.status === "paused") return undefined;
    return { ...rollout, status: "paused", pause: { by: operator, at: deps.clock.now() } };
  });
}

/**
 * Resumes a paused rollout; the release that paused it does not pause it again. A rollout that is not paused stays
 * unchanged.
 *
 * @throws SvcError as `pause`
 */
export function resume(deps: CommandDeps, id: string, operator: string): Promise<Rollout> {
  return change(deps, "resume", id, operator, ({ pause, ...rollout }) =>
    pause === undefined
      ? undefined
      : { ...rollout, status: "running", ...defined({ release: pause.release ?? rollout.release }) },
  );
}

/**
 * Aborts a rollout: no further wave starts, and the job of the current one is cancelled. This master drives
 * it from now on, so that it ends at once, even when its driver is gone: the end is stored when this
 * resolves, or soon after.
 *
 * @throws SvcError `not_found`, also for a malformed id; `conflict` when it has ended
 */
export function abort(deps: CommandDeps, id: string, operator: string): Promise<Rollout> {
  const { self, clock } = deps;
  return change(deps, "abort", id, operator, (rollout) => {
    if (rollout.abort !== undefined) return undefined;
    const token = rollout.driver === self ? rollout.token : rollout.token + 1;
    const abort = { by: operator, at: clock.now() };
    return { ...rollout, abort, driver: self, token, heartbeatAt: clock.now() };
  });
}

/** @param next the changed rollout; `undefined` when no change is needed */
function change(
  { rollouts, log }: CommandDeps,
  action: "pause" | "resume" | "abort",
  id: string,
  operator: string,
  next: (rollout: Rollout) => Rollout | undefined,
): Promise<Rollout> {
  const attempt = async () => {
    const entry = isId("rol", id) ? await rollouts.get(id) : undefined;
    if (entry === undefined) throw new SvcError("not_found", "the rollout does not exist");
    const rollout = decodeRollout(entry.value);
    if (!isLive(rollout)) {
      throw new SvcError(
        "conflict",
        `the rollout has ended (${rollout.status}): there is nothing to ${action}`,
      );
    }
    if (rollout.abort !== undefined && action !== "abort") {
      throw new SvcError("conflict", `the rollout is being aborted: there is nothing to ${action}`);
    }
    const changed = next(rollout);
    if (changed === undefined) return rollout;
    if ((await rollouts.update(id, encodeRollout(changed), entry.revision)) === undefined) return conflict;
    log.info("rollout command", { action, rollout: id, operator });
    return changed;
  };
  return retryOnConflict(attempt, { exhausted: "the rollout changed too often meanwhile: try again" });
}
