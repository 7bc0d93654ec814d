import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { shareWatch } from "../../bus/storage/mod.ts";
import { type Budgets, factsOfAll, paceOf, paceWatch } from "../../fleet/budget/mod.ts";
import { watchFacts } from "../../fleet/enrollment/mod.ts";
import type { Directory } from "../../fleet/enrollment/store/mod.ts";
import { createFleetIndex, type FleetIndex } from "../../fleet/targeting/mod.ts";
import type { Check } from "../../program/health/mod.ts";
import type { Storage } from "../storage/mod.ts";
import { type Beats, followBeats } from "./follow-beats.ts";

/** How long a start waits for the index; then it continues, and targets are resolved by reading buckets. */
const startMs = 10_000;

export interface Targeting {
  index: FleetIndex;
  /** What the heartbeats say, those that were stored before the start included. */
  beats: Omit<Beats, "stop">;
  /**
   * Whether a peel is alive, or was at that moment, milliseconds since the Unix epoch; until this is known it
   * counts as alive.
   */
  alive(peel: string, at?: number): boolean;
  /** Whether the bus has no facts of a peel; until this is known it has some. */
  lacksFacts(peel: string): boolean;
  /** `target-service` of /readyz. */
  check: Check;
  stop(): void;
}

/**
 * Starts the index for targets, and the activation of peels, which uses the same facts.
 *
 * @throws the reason of the signal
 */
export async function startTargeting(options: {
  storage: Pick<Storage, "enrollments" | "facts" | "peelHeartbeats">;
  directory: Directory;
  budgets: Pick<Budgets, "take" | "pace" | "paceLate">;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}): Promise<Targeting> {
  const { storage, directory, budgets, clock, log, signal } = options;
  // Facts are counted as peels send them.
  const pace = paceOf(budgets, "facts", { isCounted: true, sum: factsOfAll });
  const facts = shareWatch(paceWatch(storage.facts, pace, clock));
  const activating = watchFacts({ enrollments: storage.enrollments, clock, facts, directory, log });
  const index = createFleetIndex({
    members: directory.members,
    facts,
    heartbeats: paceWatch(storage.peelHeartbeats, paceOf(budgets, "heartbeats"), clock),
    clock,
    log,
  });
  // Before the first heartbeat is read: each is reported once.
  const beats = followBeats(index);
  facts.start();
  const stop = () => {
    activating.stop();
    beats.stop();
    index.stop();
  };
  const late = new AbortController();
  try {
    await Promise.race([index.ready, sleep(clock, startMs, AbortSignal.any([signal, late.signal]))]);
  } catch (thrown) {
    stop();
    throw thrown;
  } finally {
    late.abort();
  }
  if (!index.running) log.warn("the fleet is not indexed yet: targets are resolved by reading the buckets");
  return {
    index,
    beats,
    alive: (peel, at) => !index.running || index.alive(peel, at),
    lacksFacts: (peel) => index.running && index.factsStoredAt(peel) === undefined,
    check: () =>
      index.running
        ? { status: "up" }
        : {
            status: "down",
            message: "the fleet is not indexed: targets are resolved by reading the buckets",
          },
    stop,
  };
}
