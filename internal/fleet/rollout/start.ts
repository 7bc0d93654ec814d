import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { Content } from "../../wire/content.ts";
import { assertFrozen } from "../jobs/mod.ts";
import type { SignedRequestOf } from "../jobs/records/mod.ts";
import type { Target } from "../targeting/mod.ts";
import { claimRollout } from "./claim.ts";
import { type ReleasesInForce, releaseOf } from "./overtaken.ts";
import { cutWaves, peelsOf } from "./plan.ts";
import {
  decodeRollout,
  decodeTargets,
  encodeRollout,
  encodeTargets,
  type Rollout,
  type RolloutPlan,
  targetsKey,
} from "./record.ts";
import { digestOfTargets, isGenuineRollout, rolloutMac } from "./record-mac.ts";
import { type RolloutRequest, readRolloutRequest } from "./request.ts";

const maxRunning = 50;

export interface StartDeps {
  rollouts: Bucket;
  /**
   * Resolves a target to the sorted encoded peel IDs of members.
   *
   * @throws SvcError `bad_request` for a malformed target
   */
  resolve(target: Target): Promise<string[]>;
  /** Which of these peels are not connected now. */
  awayOf(peels: readonly string[]): Promise<readonly string[]>;
  /** Rollouts that have not ended, as of now. */
  running(): Promise<readonly Rollout[]>;
  mac: RecordMac;
  releases: Pick<ReleasesInForce, "newest" | "versionOf">;
  /** The name of this master, which will drive it. */
  self: string;
  /** The ID of the request, which is stored with the rollout and its jobs. */
  requestId?: string;
  /** The request, if the operator signed it: it goes to the peels with each wave. */
  signed?: SignedRequestOf;
  /** The other operators who agreed to it, which is stored with the rollout and its jobs. */
  approvedBy?: readonly string[];
  /** The files that it was accepted for. */
  content?: Content;
  /** Those for its peels that run released files alone, where they differ. */
  released?: Content;
  clock: Clock;
  random: Random;
  log: Log;
}

/** The peels and the waves of a planned rollout. */
export interface RolloutPreview {
  /** The frozen list: encoded peel ids, sorted. */
  targets: string[];
  plan: RolloutPlan;
}

/**
 * Resolves the peels of a rollout and cuts them into waves, without starting anything.
 *
 * @throws SvcError `bad_request` for a malformed request, `not_found` when no peel matches, `conflict` when others
 *   match than those that were signed
 */
export async function planRollout(
  deps: Pick<StartDeps, "resolve" | "clock">,
  request: RolloutRequest,
): Promise<RolloutPreview> {
  const read = readRolloutRequest(request);
  const targets = [...new Set(await deps.resolve(read.target))].sort();
  if (targets.length === 0) {
    throw new SvcError("not_found", "no peel matches the target");
  }
  assertFrozen(request.targets_digest, targets);
  return {
    targets,
    plan: {
      bounds: cutWaves(targets.length, read.canary, read.waves),
      waveWaitMs: read.waveWaitMs,
      maxFailures: peelsOf(read.maxFailures, targets.length, "down"),
      ...defined({ check: read.check }),
      timeoutMs: read.timeoutMs,
      deadline: deps.clock.now() + read.deadlineMs,
    },
  };
}

/**
 * Starts a rollout: its list is frozen, and this master drives it, or another master that takes it over.
 *
 * @param id of a rollout that an earlier call may have started
 * @returns the stored rollout and its frozen list
 * @throws SvcError `bad_request` for a malformed request, `not_found` when no peel matches, `conflict` when
 *   too many run, or one with the same function on the same peels; `storage` when it could not be stored
 */
export async function storeRollout(
  deps: StartDeps,
  request: RolloutRequest,
  operator: string,
  id?: string,
): Promise<{ rollout: Rollout; targets: string[] }> {
  const { rollouts, clock, random, log, self } = deps;
  const before = id === undefined ? undefined : await startedBefore(deps, id, operator);
  if (before !== undefined) return before;
  const { targets, plan } = await planRollout(deps, request);
  const running = await deps.running();
  if (running.length >= maxRunning) {
    throw new SvcError(
      "conflict",
      `${running.length} rollouts are already running; wait for one to end, or abort one`,
    );
  }
  const now = clock.now();
  const requested: Rollout = {
    id: id ?? newId("rol", now, random),
    function: request.function,
    args: request.args ?? {},
    ...defined({ target: request.target, content: deps.content, released: deps.released }),
    ...(deps.signed === undefined ? defined({ release: releaseOf(deps, deps.releases) }) : {}),
    metadata: request.metadata ?? {},
    plan,
    status: "running",
    step: "ready",
    waves: [],
    failures: 0,
    forbidden: [],
    driver: self,
    token: 1,
    heartbeatAt: now,
    createdAt: now,
    createdBy: operator,
    ...defined({ requestId: deps.requestId, request: deps.signed, approvedBy: deps.approvedBy }),
  };
  const rollout = { ...requested, voucher: rolloutMac(deps.mac, requested, digestOfTargets(targets)) };
  await claimRollout(rollouts, rollout, targets);
  // First the list, which then never changes: a record without one does not exist.
  for (const [key, value] of [
    [targetsKey(rollout.id), encodeTargets(targets)],
    [rollout.id, encodeRollout(rollout)],
  ] as const) {
    // Of a start with this id that was cut off there is the list.
    if ((await rollouts.create(key, value)) === undefined && (id === undefined || key === rollout.id)) {
      throw new SvcError("conflict", `the rollout ${rollout.id} already exists`);
    }
  }
  log.info("rollout started", {
    rollout: rollout.id,
    function: rollout.function,
    targets: targets.length,
    waves: plan.bounds.length,
    operator,
    deadline: rfc3339(plan.deadline),
  });
  return { rollout, targets };
}

/** @throws SvcError `conflict` when another rollout has this id */
async function startedBefore(
  { rollouts, mac }: StartDeps,
  id: string,
  operator: string,
): Promise<{ rollout: Rollout; targets: string[] } | undefined> {
  const [entry, list] = [await rollouts.get(id), await rollouts.get(targetsKey(id))];
  if (entry === undefined || list === undefined) return undefined;
  const [rollout, targets] = [decodeRollout(entry.value), decodeTargets(list.value)];
  const isOwn = rollout.id === id && rollout.createdBy === operator;
  if (isOwn && isGenuineRollout(mac, rollout, digestOfTargets(targets))) return { rollout, targets };
  throw new SvcError("conflict", `the id ${id} belongs to another rollout, so nothing was started`);
}
