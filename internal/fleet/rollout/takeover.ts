import { type Clock, rfc3339, type Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { decodeRollout, encodeRollout, isLive, type Rollout } from "./record.ts";
import type { RolloutTiming } from "./timing.ts";

/**
 * Takes over rollouts whose driver was silent for too long, according to the monotonic clock of this master.
 */
export interface Takeover {
  /**
   * Records the stored state of a rollout, and stops watching its driver.
   *
   * @param isOld it was stored before this master subscribed
   */
  receive(rollout: Rollout, isOld: boolean): void;
  /** Watches the driver of a rollout, and takes over the rollout when the driver was silent for too long. */
  watch(id: string): void;
  /** Stops watching its driver. */
  release(id: string): void;
  forget(id: string): void;
  /** Restarts the time of every driver: during an outage of the bus no driver could send a heartbeat. */
  beginAnew(): void;
  /** Number of rollouts that were not taken over although their driver was silent for too long. */
  overdue(): number;
  stop(): void;
}

export interface TakeoverDeps {
  rollouts: Pick<Bucket, "get" | "update">;
  /** The name of this master. */
  self: string;
  timing: RolloutTiming;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  metrics: {
    /** Called when this master took a rollout from a driver that was silent, or that gave it back. */
    rolloutTaken(from: "silent" | "given_back"): void;
  };
  log: Log;
}

interface Seen {
  rollout: Rollout;
  /** Time of the last sign of its driver, on the monotonic clock of this master. */
  seenAt: number;
  timer?: Timer;
}

/** What this master received from drivers. */
interface Listening extends TakeoverDeps {
  readonly seen: Map<string, Seen>;
  stopped: boolean;
}

export function createTakeover(deps: TakeoverDeps): Takeover {
  const { timing, clock } = deps;
  const seen = new Map<string, Seen>();
  const listening: Listening = { ...deps, seen, stopped: false };
  const release = (id: string) => {
    const entry = seen.get(id);
    entry?.timer?.cancel();
    delete entry?.timer;
  };
  return {
    receive(rollout, isOld) {
      const { id, token, heartbeatAt } = rollout;
      release(id);
      const before = seen.get(id);
      const isNews = before?.rollout.token !== token || before.rollout.heartbeatAt !== heartbeatAt;
      // The age of a record that is older than the subscription follows from its wall clock time, within
      // limits.
      const ageMs = isOld ? Math.min(Math.max(0, clock.now() - heartbeatAt), timing.silenceMs) : 0;
      seen.set(id, { rollout, seenAt: isNews ? clock.monotonic() - ageMs : before.seenAt });
    },
    watch(id) {
      const entry = seen.get(id);
      if (entry !== undefined && !listening.stopped) takeLater(listening, entry);
    },
    release,
    forget(id) {
      release(id);
      seen.delete(id);
    },
    beginAnew() {
      for (const entry of seen.values()) {
        entry.seenAt = clock.monotonic();
        if (entry.timer !== undefined) takeLater(listening, entry);
      }
    },
    overdue() {
      const longMs = timing.silenceMs + 2 * timing.heartbeatMs;
      const now = clock.monotonic();
      return [...seen.values()].filter(({ rollout, seenAt }) => isLive(rollout) && now - seenAt > longMs)
        .length;
    },
    stop() {
      listening.stopped = true;
      for (const id of seen.keys()) release(id);
    },
  };
}

/** Takes over a rollout when its driver was silent for too long. */
function takeLater(listening: Listening, entry: Seen): void {
  const { timing, clock, jitter, log, seen } = listening;
  entry.timer?.cancel();
  const { rollout } = entry;
  const leftMs =
    rollout.driver === undefined ? 0 : Math.max(0, timing.silenceMs - (clock.monotonic() - entry.seenAt));
  entry.timer = clock.after(leftMs + timing.spreadMs * jitter(), () => {
    take(listening, rollout).catch((thrown) => {
      log.warn("a rollout could not be taken over", { rollout: rollout.id, reason: describeError(thrown) });
      if (!listening.stopped && seen.get(rollout.id) === entry) {
        entry.timer = clock.after(timing.retryMs, () => takeLater(listening, entry));
      }
    });
  });
}

/** Takes over a rollout, if its driver has sent nothing since. */
async function take(listening: Listening, { id, token, heartbeatAt }: Rollout): Promise<void> {
  const { rollouts, self, clock } = listening;
  const entry = await rollouts.get(id);
  if (entry === undefined || listening.stopped) return;
  const rollout = decodeRollout(entry.value);
  // This process may have been frozen itself, and receive earlier heartbeats only now.
  const isSilent = rollout.token === token && rollout.heartbeatAt === heartbeatAt;
  if (!isLive(rollout) || (rollout.driver !== undefined && !isSilent)) return;
  const next = { ...rollout, driver: self, token: rollout.token + 1, heartbeatAt: clock.now() };
  if ((await rollouts.update(id, encodeRollout(next), entry.revision)) === undefined) return;
  const from = rollout.driver === undefined ? "given_back" : "silent";
  listening.metrics.rolloutTaken(from);
  listening.log.warn("rollout taken over", {
    rollout: id,
    from: rollout.driver,
    reason: from === "silent" ? "its driver was silent" : "its driver gave it back",
    last_heard: rfc3339(rollout.heartbeatAt),
    step: rollout.step,
    token: next.token,
  });
}
