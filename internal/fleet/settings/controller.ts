import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Tenure } from "../../bus/lease/mod.ts";
import type { Bucket, FencedWriter } from "../../bus/storage/mod.ts";
import { type SettingsCompiler, SettingsFault, type SettingsTree } from "../../tree/settings/mod.ts";
import type { FollowedTree } from "./follow.ts";
import { type Renewal, type RenewDeps, renewPeel } from "./renew.ts";
import { createReport, type SettingsHealth } from "./report.ts";
import { readStored, type Stored } from "./stored-versions.ts";
import type { Peels, Tracker } from "./tracker.ts";

const retryMs = 2_000;
/** Number of peels processed concurrently; most of the time is spent on bus requests. */
const lanes = 16;

export interface SettingsControllerDeps extends Omit<RenewDeps, "peels" | "bucket"> {
  peels: Peels;
  bucket: Pick<Bucket, "get" | "watch">;
  tree: FollowedTree;
  tracker: Tracker;
  compilerOf(tree: SettingsTree): SettingsCompiler;
  acquireWriter(token: number): Promise<FencedWriter>;
  onRenewal(renewal: Renewal): void;
  clock: Clock;
  log: Log;
}

/** A controller that keeps the stored settings of the fleet up to date while this master holds the lease. */
export interface SettingsController {
  /** Runs until the tenure ends. */
  serve(tenure: Tenure): Promise<void>;
  health(): SettingsHealth;
}

interface Compiling {
  /** Not copied: who signs may change. */
  readonly deps: SettingsControllerDeps;
  readonly health: ReturnType<typeof createReport>;
  /** The tree with a broken top file: nothing is compiled until the tree changes. */
  broken: SettingsTree | undefined;
}

/** What was stored when the work began, and who may write now. */
type Shelf = { writer: FencedWriter; stored: Map<string, Stored> };

export function createSettingsController(deps: SettingsControllerDeps): SettingsController {
  const { tree, tracker, clock, log } = deps;
  const health = createReport(log);
  const compiling: Compiling = { deps, health, broken: undefined };
  let serving = false;
  let examined: { tree: SettingsTree; problem: string | undefined } | undefined;
  /** Also while no peel needs the top file: none may be a member yet, or have sent its facts. */
  const topProblem = () => {
    if (!serving) return undefined;
    const now = tree.tree;
    if (examined?.tree !== now) examined = { tree: now, problem: deps.compilerOf(now).topProblem() };
    return examined.problem;
  };
  return {
    async serve({ token, signal }) {
      log.info("this master compiles the settings", { token });
      tracker.markAll();
      serving = true;
      while (!signal.aborted) {
        try {
          await work(compiling, token, signal);
        } catch (thrown) {
          if (signal.aborted) break;
          log.warn("settings are not up to date", { reason: describeError(thrown), retry_in_ms: retryMs });
          await sleep(clock, retryMs, signal).catch(() => {
            // The loop checks the signal.
          });
        }
      }
      serving = false;
      health.clear();
    },
    health: () => health.health(tree.problem ?? topProblem()),
  };
}

/** Renews peel after peel in several lanes, until the signal aborts or one of them fails. */
async function work(compiling: Compiling, token: number, signal: AbortSignal): Promise<void> {
  const { peels, tracker, clock, bucket, acquireWriter } = compiling.deps;
  const writer = await acquireWriter(token);
  const stored = await readStored(bucket, clock.now());
  for (const peelId of stored.keys()) if (!peels.isMember(peelId)) tracker.mark(peelId);
  const end = new AbortController();
  const both = AbortSignal.any([signal, end.signal]);
  both.addEventListener("abort", () => tracker.wake(), { once: true });
  const running = Array.from({ length: lanes }, () => runLane(compiling, { writer, stored }, both));
  // A failing lane ends all lanes; the work is then retried from the stored state.
  await Promise.all(running.map((lane) => lane.finally(() => end.abort()))).finally(() =>
    Promise.allSettled(running),
  );
}

async function runLane(compiling: Compiling, shelf: Shelf, signal: AbortSignal): Promise<void> {
  const { tree, tracker } = compiling.deps;
  const isBroken = () => compiling.broken === tree.tree;
  while (!signal.aborted) {
    const changed = tracker.changed();
    const peelId = isBroken() ? undefined : tracker.take();
    if (peelId !== undefined) {
      await renewOne(compiling, shelf, peelId);
      continue;
    }
    if (tracker.idle || isBroken()) compiling.health.pause();
    await changed;
  }
}

async function renewOne(compiling: Compiling, shelf: Shelf, peelId: string): Promise<void> {
  const { deps, health } = compiling;
  const { tracker } = deps;
  const uses = new Set<string>();
  const from = deps.tree.tree;
  try {
    const { renewal, reason } = await renewPeel(deps, deps.compilerOf(from), shelf, peelId, uses);
    health.add(peelId, renewal, reason);
    deps.onRenewal(renewal);
    tracker.done(peelId, uses.size === 0 ? undefined : uses);
  } catch (thrown) {
    tracker.mark(peelId);
    tracker.done(peelId);
    if (!(thrown instanceof SettingsFault && thrown.wholeTree)) throw thrown;
    compiling.broken = from;
    health.treeBroken(thrown.message);
  }
}
