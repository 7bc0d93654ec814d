import { sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  type AssetName,
  assets,
  type Bus,
  type Fullness,
  fullest,
  probeStorage,
  readFullness,
} from "../../bus/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { MasterView } from "../metrics/mod.ts";

const measureMs = 10_000;
const retryMs = 10_000;
/** Below what a check may take, so that it can say what is slow. */
const answerMs = 1_800;
/** Streams that make room by themselves: one peel that fills them must not take a master out of service. */
const makesRoom: ReadonlySet<AssetName> = new Set(["events", "job-events"]);
/** In memory: gone with every restart of the bus, and made again when it is needed. */
const transient: AssetName = "enroll-challenges";

/** The room on the bus, as one master watches it. */
export interface WatchedRoom {
  /** `storage` of /readyz: writes, reads, and looks for full streams. */
  check(): Promise<CheckResult>;
  view: NonNullable<MasterView["storage"]>;
  stop(): void;
}

/**
 * Measures how full each stream is, and provisions again after a restart of the bus that lost some: a server
 * that has less room than before does not open streams whose limits it cannot reserve.
 *
 * @param options.provision creates and adjusts all storage, once
 */
export function watchRoom(options: {
  bus: Bus;
  /** Of this master. */
  name: string;
  provision: () => Promise<unknown>;
  log: Log;
}): WatchedRoom {
  const { bus, name, provision, log } = options;
  const { clock } = bus;
  const stopping = new AbortController();
  let measured: readonly Fullness[] = [];
  let warnedOf = "";

  const measure = async () => {
    measured = await readFullness(bus);
    const worst = fullest(measured);
    if (worst !== undefined && worst.asset !== warnedOf) {
      log.warn("a stream on the bus is nearly full", { asset: worst.asset, reason: worst.message });
    }
    warnedOf = worst?.asset ?? "";
  };
  const measureOrSay = () => {
    measure().catch((thrown) =>
      log.debug("the room on the bus is not known", { reason: describeError(thrown) }),
    );
  };
  const restore = async () => {
    const { reconnects } = bus;
    while (!stopping.signal.aborted && bus.reconnects === reconnects) {
      try {
        const there = new Set((await readFullness(bus)).map(({ asset }) => asset));
        const missing = (Object.keys(assets) as AssetName[]).filter(
          (asset) => asset !== transient && !there.has(asset),
        );
        if (missing.length === 0) return;
        log.warn("streams are missing after a restart of the bus", { missing: missing.join(", ") });
        await provision();
      } catch (thrown) {
        log.warn("storage is not ready", { error: describeError(thrown), retry_in_ms: retryMs });
      }
      await sleep(clock, retryMs, stopping.signal);
    }
  };
  const unsubscribe = bus.onReconnect(() => {
    restore().catch(() => {
      // Only the stop signal ends it.
    });
  });
  const timer = clock.every(measureMs, measureOrSay);
  measureOrSay();
  return {
    async check() {
      await probeStorage(bus, name, answerMs);
      const worst = fullest(await readFullness(bus, answerMs));
      if (worst === undefined) return { status: "up" };
      const isDown = worst.full && !makesRoom.has(worst.asset);
      return { status: isDown ? "down" : "degraded", message: worst.message };
    },
    view: () => ({
      bytes: Object.fromEntries(measured.map(({ asset, bytes }) => [asset, bytes])),
      limits: Object.fromEntries(
        measured.flatMap(({ asset, maxBytes }) => (maxBytes > 0 ? [[asset, maxBytes]] : [])),
      ),
    }),
    stop() {
      stopping.abort();
      unsubscribe();
      timer.cancel();
    },
  };
}
