import { type Clock, rfc3339, type Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/mod.ts";
import { decodeRollout, encodeRollout, isLive, type Rollout } from "./record.ts";
import type { RolloutTiming } from "./timing.ts";

/** Takes rollouts over whose driver was silent for too long, as this master's own monotonic clock saw it. */
export interface Takeover {
  /**
   * Takes note of a rollout as it is stored now; its driver is watched no more.
   *
   * @param isOld it was stored before this master listened
   */
  hear(rollout: Rollout, isOld: boolean): void;
  /** Watches the driver of a rollout: takes the rollout when its time is up. */
  watch(id: string): void;
  /** Watches its driver no more. */
  release(id: string): void;
  forget(id: string): void;
  /** Gives every driver its time anew: while the bus was away nobody could say anything. */
  beginAnew(): void;
  /** How many rollouts were not taken although their driver was silent for long. */
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
    /** This master took a rollout from a driver that was silent, or that gave it back. */
    rolloutTaken(from: "silent" | "given_back"): void;
  };
  log: Log;
}

interface Heard {
  rollout: Rollout;
  /** When its driver was last heard of, on this master's monotonic clock. */
  heardAt: number;
  timer?: Timer;
}

export function createTakeover(deps: TakeoverDeps): Takeover {
  const { rollouts, self, timing, clock, jitter, metrics, log } = deps;
  const heard = new Map<string, Heard>();
  let stopped = false;

  /** Takes a rollout, if its driver has said nothing since. */
  const take = async ({ id, token, heartbeatAt }: Rollout) => {
    const entry = await rollouts.get(id);
    if (entry === undefined || stopped) return;
    const rollout = decodeRollout(entry.value);
    // This process may have been frozen itself, and only now hear what was said in the meantime.
    const isSilent = rollout.token === token && rollout.heartbeatAt === heartbeatAt;
    if (!isLive(rollout) || (rollout.driver !== undefined && !isSilent)) return;
    const next = { ...rollout, driver: self, token: rollout.token + 1, heartbeatAt: clock.now() };
    if ((await rollouts.update(id, encodeRollout(next), entry.revision)) === undefined) return;
    const from = rollout.driver === undefined ? "given_back" : "silent";
    metrics.rolloutTaken(from);
    log.warn("rollout taken over", {
      rollout: id,
      from: rollout.driver,
      reason: from === "silent" ? "its driver was silent" : "its driver gave it back",
      last_heard: rfc3339(rollout.heartbeatAt),
      step: rollout.step,
      token: next.token,
    });
  };
  const takeLater = (entry: Heard) => {
    entry.timer?.cancel();
    const { rollout } = entry;
    const leftMs =
      rollout.driver === undefined ? 0 : Math.max(0, timing.silenceMs - (clock.monotonic() - entry.heardAt));
    entry.timer = clock.after(leftMs + timing.spreadMs * jitter(), () => {
      take(rollout).catch((thrown) => {
        log.warn("a rollout could not be taken over", { rollout: rollout.id, reason: describeError(thrown) });
        if (!stopped && heard.get(rollout.id) === entry) {
          entry.timer = clock.after(timing.retryMs, () => takeLater(entry));
        }
      });
    });
  };
  const release = (id: string) => {
    const entry = heard.get(id);
    entry?.timer?.cancel();
    delete entry?.timer;
  };
  return {
    hear(rollout, isOld) {
      const { id, token, heartbeatAt } = rollout;
      release(id);
      const before = heard.get(id);
      const isNews = before?.rollout.token !== token || before.rollout.heartbeatAt !== heartbeatAt;
      // What was stored before this master listened is as old as its wall clock says, within reason.
      const ageMs = isOld ? Math.min(Math.max(0, clock.now() - heartbeatAt), timing.silenceMs) : 0;
      heard.set(id, { rollout, heardAt: isNews ? clock.monotonic() - ageMs : before.heardAt });
    },
    watch(id) {
      const entry = heard.get(id);
      if (entry !== undefined && !stopped) takeLater(entry);
    },
    release,
    forget(id) {
      release(id);
      heard.delete(id);
    },
    beginAnew() {
      for (const entry of heard.values()) {
        entry.heardAt = clock.monotonic();
        if (entry.timer !== undefined) takeLater(entry);
      }
    },
    overdue() {
      const longMs = timing.silenceMs + 2 * timing.heartbeatMs;
      const now = clock.monotonic();
      return [...heard.values()].filter(({ rollout, heardAt }) => isLive(rollout) && now - heardAt > longMs)
        .length;
    },
    stop() {
      stopped = true;
      for (const id of heard.keys()) release(id);
    },
  };
}
