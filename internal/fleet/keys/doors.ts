import type { Doors } from "../operation/mod.ts";
import type * as operations from "./operations.ts";

/** How what depends on keys of the fleet is reached. */
export const keyDoors = {
  listDependents: { bus: { subject: "svc.admin.key.dependents" } },
} as const satisfies Doors<typeof operations>;
