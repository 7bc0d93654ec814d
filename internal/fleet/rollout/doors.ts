import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Rollouts";
const queue = "svc.masters";
const noSuchRollout = "The rollout does not exist";
const seeList = "see svc rollout list";
const hints = { svc: { not_found: seeList } };
const command = {
  method: "POST",
  tag,
  show: "view",
  answers: { 200: "The rollout as it is now", 404: noSuchRollout, 409: "The rollout has ended" },
} as const;

/** How rollouts are reached. */
export const rolloutDoors = {
  startRollout: {
    rest: {
      ...{ method: "POST", path: "/api/v1/rollouts", tag, body: "required", readsAll: true },
      statusWith: { field: "id", status: 202 },
      answers: {
        200: "With `dry_run`: the planned rollout",
        202: "The rollout is stored, and its list frozen",
        404: "No peel matches",
        409: "Too many rollouts run, or `snapshot` names other state files than those that are in force",
      },
    },
    bus: { subject: "svc.rollout.start", queue, also: ["upgrades start"] },
    hints: {
      svc: {
        not_found: { about: "no peel matches", say: "see svc peels list" },
        conflict: seeList,
        invalid_transition: seeList,
      },
    },
  },
  listRollouts: {
    rest: {
      ...{ method: "GET", path: "/api/v1/rollouts", tag, page: "rollouts", readsAll: true },
      answers: { 200: "One page of them", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.rollout.list", queue, page: { usual: 20, max: 1_000 } },
  },
  getRollout: {
    rest: {
      ...{ method: "GET", path: "/api/v1/rollouts/:id", tag, show: "view" },
      answers: { 200: "The rollout", 404: noSuchRollout },
    },
    bus: { subject: "svc.rollout.show", queue, also: ["rollouts start", "upgrades start"] },
    hints,
  },
  pauseRollout: {
    rest: { ...command, path: "/api/v1/rollouts/:id/pause" },
    bus: { subject: "svc.rollout.pause", queue, reply: ["rollout"] },
    hints,
  },
  resumeRollout: {
    rest: { ...command, path: "/api/v1/rollouts/:id/resume" },
    bus: { subject: "svc.rollout.resume", queue, reply: ["rollout"] },
    hints,
  },
  abortRollout: {
    rest: { ...command, path: "/api/v1/rollouts/:id/abort" },
    bus: { subject: "svc.rollout.abort", queue, reply: ["rollout"] },
    hints,
  },
  streamRollout: {
    rest: {
      ...{ method: "GET", path: "/api/v1/rollouts/:id/stream", tag },
      // The longest deadline, the longest job after it, and a margin.
      stream: { maxDurationMs: 7 * 24 * 3600_000 + 60_000 },
      answers: { 200: "The stream", 404: noSuchRollout },
    },
    bus: { subject: "svc.admin.rollouts.follow", also: ["rollouts start", "upgrades start"] },
    hints,
  },
} as const satisfies Doors<typeof operations>;
