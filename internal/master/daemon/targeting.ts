import { join } from "node:path";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { shareWatch } from "../../bus/shared-watch.ts";
import { type ActivateDeps, watchFacts } from "../../fleet/enrollment/activate.ts";
import type { Directory } from "../../fleet/enrollment/directory.ts";
import { createFleetIndex, type FleetIndex } from "../../fleet/targeting/fleet-index.ts";
import { followNodeGroups } from "../../fleet/targeting/node-groups.ts";
import { createResolver, type Resolver } from "../../fleet/targeting/resolver.ts";
import type { Check } from "../../program/health/check.ts";
import type { FactMap } from "../../tree/targets/fact-map.ts";
import type { Storage } from "./storage.ts";

/** How long a start waits for the index; then it goes on, and targets are found by reading buckets. */
const startMs = 10_000;

export interface Targeting {
  resolver: Resolver;
  index: FleetIndex;
  /** Whether a peel is alive; until that can be told it counts as alive. */
  alive(peel: string): boolean;
  /** `target-service` of /readyz. */
  check: Check;
  stop(): void;
}

/** Starts what finds targets, and the activation of peels, which follows the same facts. */
export async function startTargeting(options: {
  storage: Pick<Storage, "enrollments" | "facts" | "peelHeartbeats">;
  directory: Directory;
  settingsDir: string;
  /** Settings by peel, for `I@`. */
  settings(): Promise<ReadonlyMap<string, FactMap>>;
  clock: Clock;
  log: Log;
}): Promise<Targeting> {
  const { storage, directory, settingsDir, clock, log } = options;
  const facts = shareWatch(storage.facts);
  const activation: ActivateDeps = { enrollments: storage.enrollments, clock, facts, directory, log };
  const activating = watchFacts(activation);
  const index = createFleetIndex({
    members: directory.members,
    facts,
    heartbeats: storage.peelHeartbeats,
    clock,
    log,
  });
  facts.start();
  const groups = followNodeGroups(join(settingsDir, "nodegroups.yaml"), log);
  const resolver = createResolver({
    directory,
    index,
    facts: storage.facts,
    heartbeats: storage.peelHeartbeats,
    groups,
    settings: options.settings,
    clock,
    log,
  });
  const late = new AbortController();
  await Promise.race([index.ready, sleep(clock, startMs, late.signal)]).finally(() => late.abort());
  if (!index.running) log.warn("the fleet is not indexed yet: targets are resolved by reading the buckets");
  return {
    resolver,
    index,
    alive: (peel) => !index.running || index.alive(peel),
    check: () =>
      index.running
        ? { status: "up" }
        : {
            status: "down",
            message: "the fleet is not indexed: targets are resolved by reading the buckets",
          },
    stop() {
      activating.stop();
      index.stop();
    },
  };
}
