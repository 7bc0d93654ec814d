import { type Clock, rfc3339, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { version } from "../../base/version.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { BusRestarts } from "../../bus/server/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { LimitedSource } from "../../doors/rest/mod.ts";
import { encodeMasterBeat, type MasterKeys } from "../../fleet/masters/mod.ts";

const intervalMs = 5_000;
/** How long the end of a master may wait for the bus to take note of it. */
const removalMs = 2_000;

/**
 * Tells every 5 s that this master is alive, and at its end that it is not.
 *
 * @param options.certificateEnds when the certificate of its listener ends, milliseconds since the Unix epoch
 * @param options.recoveryWindowMs how long after the end of its credentials a peel may recover them
 * @param options.caPin SPKI pin of the root of the fleet's CA; `undefined` when peels know it from elsewhere
 */
export function startMasterHeartbeat(options: {
  bus: Pick<Bus, "connected" | "log">;
  bucket: Pick<Bucket, "put" | "remove">;
  /** Of this master. */
  name: string;
  hostname: string;
  certificateEnds: () => number;
  recoveryWindowMs: number;
  caPin: () => string | undefined;
  /** The rotation of that root, where one runs. */
  caRotation: () => { phase: string; next: { pin: string } } | undefined;
  /** By how much its clock is ahead of the bus, milliseconds, if that is known. */
  clockAheadMs: () => number | undefined;
  /** How often the bus was started again that this master runs. */
  busRestarts: () => BusRestarts | undefined;
  /** Whether another program listens on `health_addr`. */
  isHealthOff: () => boolean;
  /** The sources that it limits most. */
  limited: () => readonly LimitedSource[];
  /** What it reports about its keys. */
  keys: () => MasterKeys;
  /** Digests of the files that it reads from its own host. */
  files: () => Readonly<Record<string, Uint8Array>> | undefined;
  clock: Clock;
}): { stop(): Promise<void> } {
  const { bus, bucket, name, hostname, certificateEnds, caPin, caRotation, clockAheadMs, keys, clock } =
    options;
  const startedAt = rfc3339(clock.now());
  /** Resolves with the revision of the last one. */
  let last: Promise<number | undefined> = Promise.resolve(undefined);
  const beat = () => {
    const [rotation, limited, restarts] = [caRotation(), options.limited(), options.busRestarts()];
    const value = encodeMasterBeat({
      ...{ hostname, version, started_at: startedAt },
      certificate_ends_at: rfc3339(certificateEnds()),
      recovery_window_ms: options.recoveryWindowMs,
      ...defined({ ca_spki: caPin(), clock_ahead_ms: clockAheadMs(), files: options.files() }),
      ...(rotation === undefined ? {} : { ca_next_spki: rotation.next.pin, ca_phase: rotation.phase }),
      ...(options.isHealthOff() ? { health: "off" as const } : {}),
      ...(limited.length === 0 ? {} : { limited }),
      ...(restarts === undefined
        ? {}
        : { bus_restarts: restarts.count, bus_restarted_at: rfc3339(restarts.at) }),
      ...keys(),
    });
    const before = last;
    last = bucket.put(name, value).catch((cause) => {
      if (bus.connected) bus.log.warn("master heartbeat not stored", { error: cause });
      return before;
    });
  };
  beat();
  const timer = clock.every(intervalMs, beat);
  const remove = async () => {
    const revision = await last;
    if (revision !== undefined) await bucket.remove(name, revision);
  };
  return {
    async stop() {
      timer.cancel();
      // Without the bus nobody sees it either, and it ends by itself after 15 s.
      if (!bus.connected) return;
      const late = new AbortController();
      const removing = remove().catch((cause) => {
        bus.log.warn("master heartbeat not removed", { error: cause });
      });
      const giveUp = sleep(clock, removalMs, late.signal).catch(() => {
        // It was removed in time.
      });
      await Promise.race([removing, giveUp]);
      late.abort();
    },
  };
}
