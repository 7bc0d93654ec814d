import { abortable } from "../../../base/abortable.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import { watchRoom } from "../room.ts";
import { openStorage, provisionOnce } from "../storage.ts";
import type { Connected } from "./connect.ts";

/** The buckets of a master, on a bus that may still be electing leaders. */
export const storage = {
  waits: { storage: "not opened yet" },
  async start({ config, name, bus, system, clock, log, signal }: MasterDeps & Connected) {
    const configuredReplicas = config.storage_replicas;
    const jobsMaxBytes = config["jobs.max_bytes"];
    const options = { bus, system, configuredReplicas, jobsMaxBytes, log };
    const storage = await abortable(openStorage({ ...options, clock, signal }), signal);
    const room = watchRoom({ bus, name, provision: () => provisionOnce(options), log });
    return {
      storage,
      checks: { storage: room.check },
      view: { storage: room.view },
      stop: room.stop,
    };
  },
};

export type Stored = OffersOf<typeof storage>;
