import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { content, type ShownContent } from "../../wire/content.ts";
import { type ShownReleasedFiles, showReleasedFiles } from "../../wire/released-content.ts";
import {
  decodeRollout,
  decodeTargets,
  isLive,
  peelsOfWave,
  type Rollout,
  type RolloutPlan,
  type RolloutStatus,
  type RolloutStep,
  targetsKey,
  type WaveCounts,
} from "./record.ts";
import { waitsFor } from "./waits-for.ts";

/** A rollout as lists show it. */
export interface RolloutSummary {
  id: string;
  function: string;
  target?: string;
  /** Number of target peels. */
  targets: number;
  status: RolloutStatus;
  /** Number of waves that have started, and number of all waves. */
  wave: number;
  waves: number;
  failures: number;
  created_at: string;
  created_by: string;
  approved_by?: string[];
  content?: ShownContent;
  /** What it waits for, until when, and which command shows more; absent where it continues at once. */
  waits_for?: string;
  finished_at?: string;
  reason?: string;
}

/** A wave as REST and the command line show it. */
export interface WaveView {
  /** Encoded ids: its part of the frozen list. */
  peels: string[];
  /** Absent before it has started. */
  jid?: string;
  begun_at?: string;
  ended_at?: string;
  counts?: WaveCounts;
  /** Number of its peels that had left the fleet when it started. */
  gone?: number;
  check_jid?: string;
  check_counts?: WaveCounts;
}

/** A rollout with its frozen list, as REST and the command line show it. */
export interface RolloutView {
  id: string;
  function: string;
  args: Record<string, Plain>;
  target?: string;
  metadata: Record<string, Plain>;
  status: RolloutStatus;
  /** Its position within the wave, or that at its end. */
  step: RolloutStep;
  /** Number of waves that have started; the last of them is the current one. */
  wave: number;
  /** Number of target peels. */
  targets: number;
  waves: WaveView[];
  /** What it waits for, until when, and which command shows more; absent where it continues at once. */
  waits_for?: string;
  failures: number;
  max_failures: number;
  timeout: string;
  wave_wait: string;
  check?: { function: string; args: Record<string, Plain>; timeout: string };
  deadline: string;
  paused_by?: string;
  paused_because?: string;
  abort_asked_by?: string;
  /** Jobs that were not created because their master was lost, and never can be. */
  forbidden: string[];
  driver?: string;
  token: number;
  heartbeat_at: string;
  created_at: string;
  created_by: string;
  approved_by?: string[];
  content?: ShownContent;
  released?: ShownReleasedFiles;
  request_id?: string;
  finished_at?: string;
  reason?: string;
}

export function summaryOf(rollout: Rollout): RolloutSummary {
  const { plan, target, finishedAt, reason } = rollout;
  return {
    id: rollout.id,
    function: rollout.function,
    ...defined({ target }),
    targets: plan.bounds.at(-1) ?? 0,
    status: rollout.status,
    wave: rollout.waves.length,
    waves: plan.bounds.length,
    failures: rollout.failures,
    created_at: rfc3339(rollout.createdAt),
    created_by: rollout.createdBy,
    ...agreedOf(rollout),
    ...defined({ content: rollout.content && content.show(rollout.content), waits_for: waitsFor(rollout) }),
    ...(finishedAt === undefined ? {} : { finished_at: rfc3339(finishedAt) }),
    ...defined({ reason }),
  };
}

/**
 * Loads a rollout.
 *
 * @throws SvcError `not_found`, also for a malformed id
 */
export async function loadRollout(rollouts: Bucket, id: string): Promise<Rollout> {
  const entry = isId("rol", id) ? await rollouts.get(id) : undefined;
  if (entry === undefined) throw new SvcError("not_found", "the rollout does not exist");
  return decodeRollout(entry.value);
}

/** Loads the frozen list of a rollout, which never changes. */
export async function loadTargets(rollouts: Bucket, id: string): Promise<string[]> {
  const entry = await rollouts.get(targetsKey(id));
  return entry === undefined ? [] : decodeTargets(entry.value);
}

/**
 * Shows a rollout and its peels.
 *
 * @throws SvcError `not_found`, also for a malformed id
 */
export async function showRollout(rollouts: Bucket, id: string): Promise<RolloutView> {
  const rollout = await loadRollout(rollouts, id);
  return viewOfRollout(rollout, await loadTargets(rollouts, id));
}

/** A plan that has not started: its waves, and which peels of the first one would keep it waiting. */
export async function showPlan(
  plan: Pick<RolloutPlan, "bounds" | "maxFailures">,
  targets: readonly string[],
  { awayOf }: { awayOf(peels: readonly string[]): Promise<readonly string[]> },
) {
  const waves = plannedWaves(plan, targets);
  const away = await awayOf(waves[0]?.peels ?? []);
  return {
    ...{ waves, max_failures: plan.maxFailures },
    ...(away.length === 0 ? {} : { not_connected: [...away] }),
  };
}

/** The waves of a plan that has not started. */
function plannedWaves(plan: Pick<RolloutPlan, "bounds">, targets: readonly string[]): WaveView[] {
  return plan.bounds.map((_, wave) => ({ peels: peelsOfWave(plan, targets, wave) }));
}

/** @param targets the frozen list */
export function viewOfRollout(rollout: Rollout, targets: readonly string[]): RolloutView {
  const { plan, waves, abort, pause, driver, finishedAt, reason, requestId } = rollout;
  const { check } = plan;
  return {
    id: rollout.id,
    function: rollout.function,
    args: rollout.args,
    ...defined({ target: rollout.target }),
    metadata: rollout.metadata,
    status: rollout.status,
    step: rollout.step,
    wave: waves.length,
    targets: plan.bounds.at(-1) ?? 0,
    waves: plannedWaves(plan, targets).map((planned, i) => ({ ...planned, ...progressOf(rollout, i) })),
    ...defined({ waits_for: waitsFor(rollout) }),
    failures: rollout.failures,
    max_failures: plan.maxFailures,
    timeout: formatDuration(plan.timeoutMs),
    wave_wait: formatDuration(plan.waveWaitMs),
    ...(check === undefined
      ? {}
      : { check: { function: check.function, args: check.args, timeout: formatDuration(check.timeoutMs) } }),
    deadline: rfc3339(plan.deadline),
    ...defined({ paused_by: pause?.by, paused_because: pause?.reason }),
    ...(abort === undefined || !isLive(rollout) ? {} : { abort_asked_by: abort.by }),
    forbidden: rollout.forbidden,
    ...defined({ driver }),
    token: rollout.token,
    heartbeat_at: rfc3339(rollout.heartbeatAt),
    created_at: rfc3339(rollout.createdAt),
    created_by: rollout.createdBy,
    ...agreedOf(rollout),
    ...defined({
      content: rollout.content && content.show(rollout.content),
      released: rollout.released && showReleasedFiles(rollout.released),
    }),
    ...defined({ request_id: requestId }),
    ...(finishedAt === undefined ? {} : { finished_at: rfc3339(finishedAt) }),
    ...defined({ reason }),
  };
}

function agreedOf({ approvedBy }: Rollout): { approved_by?: string[] } {
  return approvedBy === undefined ? {} : { approved_by: [...approvedBy] };
}

function progressOf({ waves }: Rollout, index: number): Omit<WaveView, "peels"> {
  const wave = waves[index];
  if (wave === undefined) return {};
  const { job, check, endedAt } = wave;
  return {
    jid: job.jid,
    begun_at: rfc3339(wave.begunAt),
    ...(endedAt === undefined ? {} : { ended_at: rfc3339(endedAt) }),
    ...defined({ counts: job.counts }),
    gone: wave.gone,
    ...defined({ check_jid: check?.jid, check_counts: check?.counts }),
  };
}
