import { SvcError } from "../../base/errors.ts";
import { type AssetName, type Bucket, type BusIdentity, inspectAssets, openBucket } from "../../bus/mod.ts";
import type { BusContext } from "../../program/diagnosis/mod.ts";
import type { TracingConfig } from "../../program/tracing/mod.ts";

/** The context of the steps of `svc doctor`. */
export interface DoctorContext extends BusContext {
  /** Where commands of the operator send traces. */
  tracing(): TracingConfig;
  identity(): BusIdentity;
}

/** Opens a bucket for a step. @throws SvcError `not_found` with the next step when it does not exist */
export async function bucketOf({ connect }: DoctorContext, name: AssetName): Promise<Bucket> {
  const bus = await connect();
  if ((await inspectAssets(bus, [name])).get(name) === "there") return openBucket(bus, name);
  throw new SvcError(
    "not_found",
    `${name} does not exist: start or restart a master: it creates what is missing`,
  );
}
