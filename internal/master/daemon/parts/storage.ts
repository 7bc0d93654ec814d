import { join } from "node:path";
import { abortable } from "../../../base/abortable.ts";
import { readTextIfPresent } from "../../../base/files/file.ts";
import { shareRuns } from "../../../base/share-runs.ts";
import { adoptSuccession, parseSucceeded } from "../../../fleet/enrollment/mod.ts";
import type { Enrollment } from "../../../fleet/enrollment/record/mod.ts";
import { createVouchers } from "../../../fleet/enrollment/store/mod.ts";
import { createRecordMac } from "../../../identity/mod.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import { openStorage, provisionOnce, replicasOf, watchRoom } from "../../storage/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";
import { untilDone } from "./until-done.ts";

/** The buckets of a master, on a bus that may still be electing leaders. */
export const storage = {
  waits: { storage: "not opened yet" },
  async start({ base, connection }: { base: MasterDeps; connection: Connected }) {
    const { config, name, keys, clock, log, signal } = base;
    const { bus, streams, system } = connection;
    const configuredReplicas = config.storage_replicas;
    const jobsMaxBytes = config["jobs.max_bytes"];
    // Not the command key, which can be replaced in a running fleet: vouchers last as long as the account.
    const recordMac = createRecordMac(keys.account);
    /** Set as soon as the operators are known; no direct decision counts before. */
    const directs: { judge?: (record: Enrollment) => boolean } = {};
    const vouchers = {
      ...createVouchers(recordMac),
      ...(config["operators.require_signed"]
        ? { mayDecide: (record: Enrollment) => directs.judge?.(record) === true }
        : {}),
    };
    const auditRetentionMs = config["audit.retention"];
    const creates = config.storage_create;
    const options = { bus, system, creates, configuredReplicas, jobsMaxBytes, auditRetentionMs, log };
    const storage = await abortable(openStorage({ ...options, name, vouchers, clock, signal }), signal);
    const succeeded = readSucceeded(join(config.auth_dir, "succession.records"));
    if (succeeded !== undefined) {
      const deps = { ...storage, vouchers, mac: recordMac, clock, log, signal };
      // Before anything serves: a peel that comes to recover is known.
      await abortable(
        untilDone(() => adoptSuccession(deps, succeeded), deps),
        signal,
      );
    }
    // The room and the guard both ask for it: two at once change the same stream, and the server refuses one of them.
    const provision = shareRuns(() => provisionOnce(options));
    const room = watchRoom({
      ...{ bus, streams, name, provision },
      replicas: () => replicasOf(options).replicas,
      log,
    });
    return {
      storage,
      recordMac,
      vouchers,
      directs,
      provision: async () => (await provision()).room,
      measured: room.view,
      checks: { storage: room.check },
      view: { storage: room.view },
      stop: room.stop,
    };
  },
};

/** The buckets as they were opened. Decisions are written through those of the part `decisions`, which logs them. */
export type Opened = OffersOf<typeof storage>;

/** What `svc fleet succeed` took over; `undefined` in a fleet that does not succeed another one. */
function readSucceeded(path: string): ReturnType<typeof parseSucceeded> | undefined {
  const text = readTextIfPresent(path);
  return text === undefined ? undefined : parseSucceeded(path, text);
}
