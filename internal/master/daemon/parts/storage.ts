import { abortable } from "../../../base/abortable.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import { openStorage } from "../storage.ts";
import type { Connected } from "./connect.ts";

/** The buckets of a master, on a bus that may still be electing leaders. */
export const storage = {
  async start({ config, bus, system, clock, log, signal }: MasterDeps & Connected) {
    const configuredReplicas = config.storage_replicas;
    const opening = openStorage({ bus, system, configuredReplicas, clock, log, signal });
    return { storage: await abortable(opening, signal), stop() {} };
  },
};

export type Stored = OffersOf<typeof storage>;
