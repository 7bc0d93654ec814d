import type { Log } from "../../../base/log.ts";
import { decode } from "../../../base/msgpack.ts";
import type { Bus } from "../../../bus/connect.ts";
import { mastersQueue, type RolloutAction, rolloutSubject } from "../../../bus/subjects.ts";
import {
  abortRollout,
  type CommandDeps,
  pauseRollout,
  resumeRollout,
} from "../../../fleet/rollout/command.ts";
import type { RolloutKeeper } from "../../../fleet/rollout/controller.ts";
import { checkRolloutRequest } from "../../../fleet/rollout/request.ts";
import { plannedWaves, summaryOf } from "../../../fleet/rollout/show.ts";
import { planRollout, type StartDeps, startRollout } from "../../../fleet/rollout/start.ts";
import { operatorOf } from "./job-message.ts";
import { serveOperators } from "./operator-request.ts";
import {
  decodeRolloutCommand,
  decodeRolloutListRequest,
  encodeRolloutListReply,
  encodeRolloutReply,
  encodeStartReply,
} from "./rollout-message.ts";

export interface RolloutAdminDeps {
  bus: Pick<Bus, "serve">;
  start: StartDeps;
  command: CommandDeps;
  keeper: Pick<RolloutKeeper, "list">;
  log: Log;
}

const commands = { pause: pauseRollout, resume: resumeRollout, abort: abortRollout };

/**
 * Answers operators about rollouts over the bus; of all masters one takes each request, and drives what it
 * started. Who may ask is decided by the permissions on the subjects.
 */
export function serveRollouts(deps: RolloutAdminDeps): void {
  const serve = (action: RolloutAction, run: Parameters<typeof serveOperators>[3]) =>
    serveOperators(deps, rolloutSubject(action), mastersQueue, run);
  serve("start", async (data, { requestId, log }) => {
    const message = decode(data);
    const operator = operatorOf(message);
    const request = checkRolloutRequest(message);
    if (request.dry_run === true) {
      const { targets, plan } = await planRollout(deps.start, request);
      return encodeStartReply({ waves: plannedWaves(plan, targets), max_failures: plan.maxFailures });
    }
    const { rollout, targets } = await startRollout({ ...deps.start, requestId, log }, request, operator);
    const { id, plan } = rollout;
    return encodeStartReply({ id, waves: plannedWaves(plan, targets), max_failures: plan.maxFailures });
  });
  serve("list", async (data) => {
    const { limit, status, cursor } = decodeRolloutListRequest(decode(data));
    const found = await deps.keeper.list({
      limit: limit + 1,
      ...(status === undefined ? {} : { status }),
      ...(cursor === undefined ? {} : { after: cursor }),
    });
    const page = found.slice(0, limit);
    return encodeRolloutListReply(page, found.length > limit ? page.at(-1)?.id : undefined);
  });
  for (const [action, run] of Object.entries(commands)) {
    serve(action as keyof typeof commands, async (data, { log }) => {
      const message = decode(data);
      const operator = operatorOf(message);
      const rollout = await run({ ...deps.command, log }, decodeRolloutCommand(message), operator);
      return encodeRolloutReply(summaryOf(rollout));
    });
  }
}
