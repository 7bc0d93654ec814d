import { type Clock, rfc3339 } from "../../base/clock.ts";
import { encode } from "../../base/msgpack.ts";
import { version } from "../../base/version.ts";
import type { Bucket, Bus } from "../../bus/mod.ts";

const intervalMs = 5_000;

/**
 * Stores a heartbeat of this master every 5 s.
 *
 * @param options.certificateEnds when the certificate of its listener ends, milliseconds since the Unix epoch
 */
export function startMasterHeartbeat(options: {
  bus: Bus;
  bucket: Bucket;
  /** Of this master. */
  name: string;
  hostname: string;
  certificateEnds: () => number;
  clock: Clock;
}): { stop(): void } {
  const { bus, bucket, name, hostname, certificateEnds, clock } = options;
  const startedAt = rfc3339(clock.now());
  const beat = () => {
    const value = encode({
      hostname,
      version,
      started_at: startedAt,
      certificate_ends_at: rfc3339(certificateEnds()),
    });
    bucket.put(name, value).catch((cause) => {
      if (bus.connected) bus.log.warn("master heartbeat not stored", { error: cause });
    });
  };
  beat();
  const timer = clock.every(intervalMs, beat);
  return { stop: () => timer.cancel() };
}
