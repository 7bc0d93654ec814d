import { rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { createOrderedView } from "../../bus/storage/mod.ts";
import { createDrives } from "./drives.ts";
import type { DriveDeps } from "./driving.ts";
import { pruneRollouts } from "./prune.ts";
import { decodeRollout, isLive, type Rollout, type RolloutStatus } from "./record.ts";
import { type RolloutSummary, summaryOf } from "./show.ts";
import { createTakeover, type TakeoverDeps } from "./takeover.ts";

/** What a master knows of all rollouts, and the ones it drives. */
export interface RolloutController {
  /** Resolves when the rollouts that were there at the start are known. */
  readonly ready: Promise<void>;
  /**
   * Rollouts, newest first, after the given one.
   *
   * @throws SvcError `bad_request` when that one is unknown
   */
  list(query: { limit: number; status?: RolloutStatus; after?: string }): Promise<RolloutSummary[]>;
  /** Those that have not ended, as of now. */
  running(): Promise<Rollout[]>;
  /** The number of rollouts known now, by status. */
  known(): Rollout[];
  /** Number of rollouts that were not taken over although their driver was silent for too long. */
  undriven(): number;
  /** Gives the rollouts of this master back, so that another master takes them at once. */
  stop(): Promise<void>;
}

export interface RolloutControllerDeps extends Omit<DriveDeps, "metrics"> {
  bus: Pick<Bus, "onReconnect">;
  /** Learns of each version of each rollout, and when those that were there at the start are known. */
  publisher?: { note(rollout: Rollout, revision: number): void; loaded(): void };
  releases: DriveDeps["releases"] & {
    /** Calls `run` after each release. @returns a function that unsubscribes */
    onChange(run: () => void): () => void;
  };
  /** A number in [0, 1). */
  jitter: () => number;
  metrics: DriveDeps["metrics"] & TakeoverDeps["metrics"];
}

/**
 * Drives the rollouts of this master, and takes over those of silent masters. It uses one watch and does not
 * poll.
 */
export function createRolloutController(deps: RolloutControllerDeps): RolloutController {
  const { rollouts, self, log } = deps;
  const drives = createDrives(deps);
  const takeover = createTakeover(deps);
  let stopped = false;
  let loaded = false;

  const arrange = (rollout: Rollout) => {
    const { id, driver } = rollout;
    if (!isLive(rollout)) {
      drives.leave(id);
      if (loaded) prune();
    } else if (driver === self) drives.drive(rollout);
    else {
      if (drives.leave(id)) log.info("rollout belongs to another master", { rollout: id, driver });
      takeover.watch(id);
    }
  };
  const view = createOrderedView<Rollout, Rollout>({
    read: decodeRollout,
    itemOf: (rollout) => rollout,
    placeOf: ({ id, createdAt }) => ({ id, createdAt: rfc3339(createdAt) }),
    onValue(rollout, { revision }, before) {
      takeover.receive(rollout, before === undefined && !loaded);
      if (!stopped) arrange(rollout);
      deps.publisher?.note(rollout, revision);
    },
    onGone(id) {
      takeover.forget(id);
      drives.leave(id);
    },
    onUnreadable(id, thrown) {
      takeover.release(id);
      log.error("a stored rollout cannot be read", { rollout: id, error: describeError(thrown) });
    },
  });
  const known = () => view.kept().map(({ item }) => item);
  const prune = () => {
    const all = view.kept().map(({ item, revision }) => ({ rollout: item, revision }));
    pruneRollouts(rollouts, all).catch((thrown) => {
      log.warn("old rollouts could not be removed", { reason: describeError(thrown) });
    });
  };

  // Keys with a dot are not records.
  const watch = rollouts.watch((change) => {
    if (isId("rol", change.key)) view.apply(change);
  }, "*");
  const ready = watch.ready.then(() => {
    loaded = true;
    deps.publisher?.loaded();
    prune();
  });
  ready.catch(() => {});
  const unsubscribe = [deps.bus.onReconnect(takeover.beginAnew), deps.releases.onChange(drives.wake)];
  return {
    ready,
    known,
    undriven: takeover.overdue,
    async running() {
      await watch.caughtUp();
      return known().filter(isLive);
    },
    async list({ limit, status, after }) {
      await watch.caughtUp();
      const show = (rollout: Rollout) =>
        status === undefined || rollout.status === status ? summaryOf(rollout) : undefined;
      return view.page({ limit, after, show });
    },
    async stop() {
      stopped = true;
      for (const stop of unsubscribe) stop();
      takeover.stop();
      await drives.giveBack();
      watch.stop();
    },
  };
}
