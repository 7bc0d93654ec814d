import {
  abort,
  follow,
  list,
  pause,
  type RolloutOperationDeps,
  resume,
  show,
  start,
} from "../../../fleet/rollout/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Rollouts" } as const;
const noSuchRollout = "The rollout does not exist";

/** The operator's routes to rollouts. */
export function rolloutRoutes({ bind, stream }: HttpDoor, deps: RolloutOperationDeps): Route[] {
  const command = (action: "pause" | "resume" | "abort", operation: typeof pause) =>
    bind(operation, deps.command, {
      ...behindToken,
      method: "POST",
      path: `/api/v1/rollouts/:id/${action}`,
      id: `${action}Rollout`,
      show: "view",
      answers: { 200: "The rollout as it is now", 404: noSuchRollout, 409: "The rollout has ended" },
    });
  return [
    bind(start, deps.start, {
      ...behindToken,
      method: "POST",
      path: "/api/v1/rollouts",
      id: "startRollout",
      body: "required",
      status: ({ id }) => (id === undefined ? 200 : 202),
      answers: {
        200: "With `dry_run`: the planned rollout",
        202: "The rollout is stored, and its list frozen",
        404: "No peel matches",
        409: "Too many rollouts run",
        503: notRead,
      },
    }),
    bind(list, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/rollouts",
      id: "listRollouts",
      page: "rollouts",
      answers: { 200: "One page of them", 400: "A parameter is malformed", 503: notRead },
    }),
    bind(show, deps.follow, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/rollouts/:id",
      id: "getRollout",
      show: "view",
      answers: { 200: "The rollout", 404: noSuchRollout },
    }),
    command("pause", pause),
    command("resume", resume),
    command("abort", abort),
    stream(follow, deps.follow, {
      ...behindToken,
      path: "/api/v1/rollouts/:id/stream",
      id: "streamRollout",
      // The longest deadline, the longest job after it, and a margin.
      maxDurationMs: 7 * 24 * 3600_000 + 60_000,
      answers: { 200: "The stream", 404: noSuchRollout },
    }),
  ];
}
