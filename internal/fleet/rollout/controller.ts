import { rfc3339, type Timer } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Change } from "../../bus/bucket.ts";
import type { Bus } from "../../bus/connect.ts";
import { type Drive, type DriveDeps, driveRollout } from "./drive.ts";
import { pruneRollouts } from "./prune.ts";
import { decodeRollout, encodeRollout, isLive, type Rollout, type RolloutStatus } from "./record.ts";
import { type RolloutSummary, summaryOf } from "./show.ts";

/** How long a master that stops takes to give its rollouts back; what is left is taken when it was silent. */
const giveBackMs = 2_000;

/** What a master knows of all rollouts, and the ones it drives. */
export interface RolloutKeeper {
  /** Resolves when the rollouts that were there at the start are known. */
  readonly ready: Promise<void>;
  /**
   * Rollouts, newest first, after the given one.
   *
   * @throws SvcError `bad_request` when that one is not known
   */
  list(query: { limit: number; status?: RolloutStatus; after?: string }): Promise<RolloutSummary[]>;
  /** Those that have not ended, as of now. */
  running(): Promise<Rollout[]>;
  /** Those that are known now, for those who count. */
  known(): Rollout[];
  /** How many of them were not taken although their driver was silent for long. */
  undriven(): number;
  /** Gives what this master drives back, so that another takes it at once. */
  stop(): Promise<void>;
}

export interface KeeperDeps extends Omit<DriveDeps, "metrics"> {
  bus: Pick<Bus, "onReconnect">;
  /** A number in [0, 1). */
  jitter: () => number;
  metrics: DriveDeps["metrics"] & {
    /** This master took a rollout from a driver that was silent, or that gave it back. */
    rolloutTaken(from: "silent" | "given_back"): void;
  };
}

interface Known {
  rollout: Rollout;
  revision: number;
  /** When its driver was last heard of, on this master's monotonic clock. */
  heardAt: number;
  timer?: Timer;
}

/**
 * Drives the rollouts of this master, and takes over those whose driver was silent for too long, as this
 * master's own monotonic clock saw it. One watch tells everything; nothing is asked in between.
 */
export function keepRollouts(deps: KeeperDeps): RolloutKeeper {
  const { rollouts, self, timing, clock, jitter, log } = deps;
  const known = new Map<string, Known>();
  const drives = new Map<string, Drive>();
  let stopped = false;
  let loaded = false;

  const drive = ({ id, token }: Rollout) => {
    const running = drives.get(id);
    if (running?.token === token) return running.wake();
    void running?.stop();
    drives.set(id, driveRollout(deps, id, token));
  };
  /** Not waited for: what is under way finds out by itself that it is too late. */
  const leave = (id: string) => {
    void drives.get(id)?.stop();
    return drives.delete(id);
  };
  /** Takes a rollout, if its driver has said nothing since. */
  const take = async (id: string, heard: Rollout) => {
    const entry = await rollouts.get(id);
    if (entry === undefined || stopped) return;
    const rollout = decodeRollout(entry.value);
    // This process may have been frozen itself, and only now hear what was said in the meantime.
    const silent = rollout.token === heard.token && rollout.heartbeatAt === heard.heartbeatAt;
    if (!isLive(rollout) || (rollout.driver !== undefined && !silent)) return;
    const next = { ...rollout, driver: self, token: rollout.token + 1, heartbeatAt: clock.now() };
    if ((await rollouts.update(id, encodeRollout(next), entry.revision)) === undefined) return;
    const from = rollout.driver === undefined ? "given_back" : "silent";
    deps.metrics.rolloutTaken(from);
    log.warn("rollout taken over", {
      rollout: id,
      from: rollout.driver,
      reason: from === "silent" ? "its driver was silent" : "its driver gave it back",
      last_heard: rfc3339(rollout.heartbeatAt),
      step: rollout.step,
      token: next.token,
    });
  };
  const takeLater = (entry: Known) => {
    entry.timer?.cancel();
    const { rollout } = entry;
    const leftMs =
      rollout.driver === undefined ? 0 : Math.max(0, timing.silenceMs - (clock.monotonic() - entry.heardAt));
    entry.timer = clock.after(leftMs + timing.spreadMs * jitter(), () => {
      take(rollout.id, rollout).catch((thrown) => {
        log.warn("a rollout could not be taken over", { rollout: rollout.id, reason: describeError(thrown) });
        if (!stopped && known.get(rollout.id) === entry) {
          entry.timer = clock.after(timing.retryMs, () => takeLater(entry));
        }
      });
    });
  };

  const apply = (change: Change) => {
    const before = known.get(change.key);
    if (before !== undefined && before.revision >= change.revision) return;
    if (!isId("rol", change.key)) return;
    before?.timer?.cancel();
    if (change.value === undefined) {
      known.delete(change.key);
      return leave(change.key);
    }
    let rollout: Rollout;
    try {
      rollout = decodeRollout(change.value);
    } catch (thrown) {
      return log.error("a stored rollout cannot be read", {
        rollout: change.key,
        error: describeError(thrown),
      });
    }
    const isNews =
      before === undefined ||
      before.rollout.token !== rollout.token ||
      before.rollout.heartbeatAt !== rollout.heartbeatAt;
    const entry: Known = {
      rollout,
      revision: change.revision,
      heardAt: isNews ? clock.monotonic() - ageAtFirstSight(rollout, before) : before.heardAt,
    };
    known.set(rollout.id, entry);
    if (stopped) return;
    if (!isLive(rollout)) {
      leave(rollout.id);
      if (loaded) prune();
    } else if (rollout.driver === self) drive(rollout);
    else {
      if (leave(rollout.id)) {
        log.info("rollout belongs to another master", { rollout: rollout.id, driver: rollout.driver });
      }
      takeLater(entry);
    }
  };
  /** What was stored before this master listened is as old as its wall clock says, within reason. */
  const ageAtFirstSight = ({ heartbeatAt }: Rollout, before: Known | undefined) =>
    before === undefined && !loaded ? Math.min(Math.max(0, clock.now() - heartbeatAt), timing.silenceMs) : 0;
  const prune = () => {
    pruneRollouts(rollouts, [...known.values()]).catch((thrown) => {
      log.warn("old rollouts could not be removed", { reason: describeError(thrown) });
    });
  };

  const watch = rollouts.watch(apply, "*");
  const ready = watch.ready.then(() => {
    loaded = true;
    prune();
  });
  ready.catch(() => {});
  // Nobody could say anything while the bus was away: the time begins anew.
  const unsubscribe = deps.bus.onReconnect(() => {
    for (const entry of known.values()) {
      entry.heardAt = clock.monotonic();
      if (entry.timer !== undefined && isLive(entry.rollout)) takeLater(entry);
    }
  });
  const giveBack = async (id: string, running: Drive) => {
    await running.stop();
    for (;;) {
      const entry = await rollouts.get(id);
      if (entry === undefined) return;
      const { driver, ...rollout } = decodeRollout(entry.value);
      if (driver !== self || rollout.token !== running.token || !isLive(rollout)) return;
      // A last heartbeat may have been on its way.
      if ((await rollouts.update(id, encodeRollout(rollout), entry.revision)) !== undefined) break;
    }
    log.info("rollout given back", { rollout: id });
  };
  return {
    ready,
    known: () => [...known.values()].map(({ rollout }) => rollout),
    undriven() {
      const longMs = timing.silenceMs + 2 * timing.heartbeatMs;
      const now = clock.monotonic();
      return [...known.values()].filter(({ rollout, heardAt }) => isLive(rollout) && now - heardAt > longMs)
        .length;
    },
    async running() {
      await watch.caughtUp();
      return [...known.values()].map(({ rollout }) => rollout).filter(isLive);
    },
    async list({ limit, status, after }) {
      await watch.caughtUp();
      if (after !== undefined && !known.has(after)) {
        throw new SvcError("bad_request", "cursor must be the one that the page before named");
      }
      const last = after === undefined ? undefined : known.get(after)?.rollout;
      return [...known.values()]
        .map(({ rollout }) => rollout)
        .filter((rollout) => status === undefined || rollout.status === status)
        .sort(newestFirst)
        .filter((rollout) => last === undefined || newestFirst(last, rollout) < 0)
        .slice(0, limit)
        .map(summaryOf);
    },
    async stop() {
      stopped = true;
      unsubscribe();
      for (const { timer } of known.values()) timer?.cancel();
      const given = [...drives].map(([id, running]) =>
        giveBack(id, running).catch((thrown) => {
          log.warn("a rollout was not given back; another master takes it in a minute", {
            rollout: id,
            reason: describeError(thrown),
          });
        }),
      );
      const late = Promise.withResolvers<void>();
      const timer = clock.after(giveBackMs, late.resolve);
      await Promise.race([Promise.all(given), late.promise]);
      timer.cancel();
      watch.stop();
    },
  };
}

function newestFirst(a: Rollout, b: Rollout): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt;
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}
