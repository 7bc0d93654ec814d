import { SvcError } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import {
  abortRollout,
  type CommandDeps,
  pauseRollout,
  resumeRollout,
} from "../../../fleet/rollout/command.ts";
import type { RolloutKeeper } from "../../../fleet/rollout/controller.ts";
import { type FollowDeps, followRollout } from "../../../fleet/rollout/follow.ts";
import { type Rollout, type RolloutStatus, rolloutStatuses } from "../../../fleet/rollout/record.ts";
import { checkRolloutRequest, rolloutRequestSchema } from "../../../fleet/rollout/request.ts";
import {
  loadRollout,
  loadTargets,
  plannedWaves,
  showRollout,
  viewOfRollout,
} from "../../../fleet/rollout/show.ts";
import { planRollout, type StartDeps, startRollout } from "../../../fleet/rollout/start.ts";
import { onlyKnown } from "./body.ts";
import { pageOf, pageResponse } from "./page.ts";
import { rolloutDocs } from "./rollout-docs.ts";
import { type Call, json, type Route } from "./route.ts";
import { eventStream } from "./stream.ts";

const heartbeatMs = 30_000;
/** The longest deadline, the longest job after it, and a little. */
const maxStreamMs = 7 * 24 * 3600_000 + 60_000;

export interface RolloutRouteDeps {
  start: StartDeps;
  command: CommandDeps;
  follow: FollowDeps;
  keeper: Pick<RolloutKeeper, "list">;
}

/** The operator's doors to rollouts. */
export function rolloutRoutes(deps: RolloutRouteDeps): Route[] {
  const { rollouts } = deps.follow;
  const command = (
    action: "pause" | "resume" | "abort",
    run: (deps: CommandDeps, id: string, operator: string) => Promise<Rollout>,
  ): Route => ({
    method: "POST",
    path: `/api/v1/rollouts/:id/${action}`,
    auth: "bearer",
    budget: "relaxed",
    body: "optional-json",
    doc: rolloutDocs[action],
    async handle({ params, username, note, log }) {
      const rollout = await run({ ...deps.command, log }, params.id ?? "", username);
      note({ rollout: rollout.id });
      return json(200, viewOfRollout(rollout, await loadTargets(rollouts, rollout.id)));
    },
  });
  return [
    {
      method: "POST",
      path: "/api/v1/rollouts",
      auth: "bearer",
      budget: "relaxed",
      body: "json",
      doc: rolloutDocs.create,
      handle: (call) => start(deps.start, call),
    },
    {
      method: "GET",
      path: "/api/v1/rollouts",
      auth: "bearer",
      budget: "relaxed",
      doc: rolloutDocs.list,
      async handle({ query }) {
        const status = statusOf(query.get("status"));
        const page = pageOf(query, (text) => isId("rol", text));
        const filter = status === undefined ? {} : { status };
        const found = await deps.keeper.list({ ...page, ...filter, limit: page.limit + 1 });
        return pageResponse(found, page, { path: "/api/v1/rollouts", query: filter, idOf: ({ id }) => id });
      },
    },
    {
      method: "GET",
      path: "/api/v1/rollouts/:id",
      auth: "bearer",
      budget: "relaxed",
      doc: rolloutDocs.show,
      async handle({ params, note }) {
        const view = await showRollout(rollouts, params.id ?? "");
        note({ rollout: view.id });
        return json(200, view);
      },
    },
    command("pause", pauseRollout),
    command("resume", resumeRollout),
    command("abort", abortRollout),
    {
      method: "GET",
      path: "/api/v1/rollouts/:id/stream",
      auth: "bearer",
      budget: "relaxed",
      doc: rolloutDocs.stream,
      handle: (call) => stream(deps, call),
    },
  ];
}

async function start(deps: StartDeps, { body, username, requestId, note, log }: Call): Promise<Response> {
  const { entries } = rolloutRequestSchema;
  const request = checkRolloutRequest(onlyKnown(body, Object.keys(entries)));
  // The checked request has lost what is unknown.
  onlyKnown(Reflect.get(Object(body), "check"), Object.keys(entries.check.wrapped.entries), "check.");
  if (request.dry_run === true) {
    const { targets, plan } = await planRollout(deps, request);
    return json(200, { waves: plannedWaves(plan, targets), max_failures: plan.maxFailures });
  }
  const { rollout, targets } = await startRollout({ ...deps, requestId, log }, request, username);
  const { id, plan } = rollout;
  note({ rollout: id });
  return json(202, { id, waves: plannedWaves(plan, targets), max_failures: plan.maxFailures });
}

async function stream(deps: RolloutRouteDeps, { params, signal, note, keepOpen, log }: Call) {
  // Read once before the stream opens: an unknown rollout is a 404, not a stream.
  const { id } = await loadRollout(deps.follow.rollouts, params.id ?? "");
  note({ rollout: id });
  keepOpen();
  return eventStream({
    clock: deps.start.clock,
    signal,
    heartbeatMs,
    maxDurationMs: maxStreamMs,
    start(sink) {
      const stopping = new AbortController();
      followRollout(
        deps.follow,
        id,
        (rollout) => sink.send("rollout", viewOfRollout(rollout, [])),
        stopping.signal,
      )
        .then(
          (rollout) => sink.send("end", viewOfRollout(rollout, [])),
          (thrown) => {
            if (!stopping.signal.aborted)
              log.warn("a rollout stream broke off", { rollout: id, error: thrown });
          },
        )
        .finally(() => sink.close());
      return () => stopping.abort(new Error("the client left"));
    },
  });
}

function statusOf(text: string | null): RolloutStatus | undefined {
  if (text === null) return undefined;
  const found = rolloutStatuses.find((status) => status === text);
  if (found !== undefined) return found;
  throw new SvcError("bad_request", `status must be one of ${rolloutStatuses.join(", ")}`);
}
