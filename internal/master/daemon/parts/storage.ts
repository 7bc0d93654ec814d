import { abortable } from "../../../base/abortable.ts";
import { createVouchers } from "../../../fleet/enrollment/mod.ts";
import { createRecordMac } from "../../../identity/mod.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import { openStorage } from "../storage.ts";
import type { Connected } from "./connect.ts";

/** The buckets of a master, on a bus that may still be electing leaders. */
export const storage = {
  async start({ config, bus, system, keys, clock, log, signal }: MasterDeps & Connected) {
    const configuredReplicas = config.storage_replicas;
    // Not the command key, which can be replaced in a running fleet: vouchers last as long as the account.
    const recordMac = createRecordMac(keys.account);
    const vouchers = createVouchers(recordMac);
    const opening = openStorage({ bus, system, vouchers, configuredReplicas, clock, log, signal });
    return { storage: await abortable(opening, signal), recordMac, vouchers, stop() {} };
  },
};

export type Stored = OffersOf<typeof storage>;
