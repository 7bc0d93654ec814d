import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  type AssetName,
  type AssetReport,
  consumerAdvisories,
  inspectConfigs,
  inspectConsumers,
  type Room,
  restoreConfig,
  restoreConsumer,
} from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { MasterMetrics } from "../metrics/mod.ts";
import { createSweeper, type Owners } from "./sweep-foreign.ts";

const inspectMs = 60_000;
/** How often this master checks whether it is its turn, and what nobody owns. */
const tickMs = 20_000;
/** What a server says when a stream was created, changed or removed. */
const streamAdvisories = ["CREATED", "UPDATED", "DELETED"].map(
  (what) => `$JS.EVENT.ADVISORY.STREAM.${what}.*`,
);

export interface GuardDeps extends Owners {
  bus: Bus;
  /** Whether this master holds the lease that every fleet has. */
  isTurn(): boolean;
  /** Creates and adjusts all storage, once. @returns how many bytes each asset may hold */
  provision(): Promise<Room>;
  auditRetentionMs: number;
  metrics: Pick<MasterMetrics, "assetRestored">;
  clock: Clock;
  log: Log;
}

/**
 * Compares the streams and consumers of the masters with what they should be, when it becomes the turn of this master,
 * each minute, and when the server says that one was changed. It repairs them, and removes what nobody owns: without
 * that, who once had the credentials of a master decides for good what is kept, and where it goes.
 */
export function guardAssets(deps: GuardDeps): { stop(): void } {
  const { bus, isTurn, clock, log } = deps;
  let inspectedAt: number | undefined;
  let isRunning = false;
  let isWanted = false;
  let isStopped = false;
  const sweeper = createSweeper(deps);
  const restore = createRestorer(deps);
  const inspect = async () => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted && isTurn() && !isStopped) {
      isWanted = false;
      inspectedAt = clock.monotonic();
      try {
        sweeper.note(await restore());
      } catch (thrown) {
        // Again with the next tick, and at once where a stream that is gone is reported meanwhile.
        inspectedAt = undefined;
        log.debug("the streams of the service could not be compared", { reason: describeError(thrown) });
      }
    }
    isRunning = false;
  };
  const tick = async () => {
    if (!isTurn()) {
      inspectedAt = undefined;
      return;
    }
    if (inspectedAt === undefined || clock.monotonic() - inspectedAt >= inspectMs) await inspect();
    await sweeper.sweep();
  };
  const tickOrSay = () => {
    tick().catch((thrown) =>
      log.debug("what nobody owns could not be removed", { reason: describeError(thrown) }),
    );
  };
  const subscriptions = [...streamAdvisories, ...consumerAdvisories].map((subject) =>
    bus.nats.subscribe(subject, { callback: () => void inspect() }),
  );
  const timer = clock.every(tickMs, tickOrSay);
  tickOrSay();
  return {
    stop() {
      isStopped = true;
      timer.cancel();
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}

/** Repairs what is not as it should be. */
function createRestorer({
  bus,
  provision,
  auditRetentionMs,
  metrics,
  log,
}: GuardDeps): () => Promise<AssetReport> {
  let room: Room | undefined;
  return async () => {
    const report = await inspectConfigs(bus, auditRetentionMs);
    let isFitted = room !== undefined;
    for (const deviation of report.deviations) {
      if (deviation.fields.length === 0) isFitted = false;
      else if (await restoreConfig(bus, deviation, auditRetentionMs, log)) metrics.assetRestored();
    }
    const limits = Object.entries(report.limits) as [AssetName, number | undefined][];
    if (!isFitted || limits.some(([asset, limit]) => limit !== room?.[asset])) {
      const isFirst = room === undefined;
      const fitted = await provision();
      room = fitted;
      // The first time, this master may have another configuration than the one before it.
      for (const [asset, limit] of limits) if (!isFirst && limit !== fitted[asset]) metrics.assetRestored();
    }
    for (const consumer of (await inspectConsumers(bus)).changed) {
      if (await restoreConsumer(bus, consumer, log)) metrics.assetRestored();
    }
    return report;
  };
}
