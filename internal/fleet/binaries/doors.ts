import type { Doors } from "../operation/mod.ts";
import type * as operations from "./operations.ts";

const queue = "svc.masters";

/** How binaries for peels are uploaded. */
export const binaryDoors = {
  // A binary has hundreds of chunks.
  putChunk: { bus: { subject: "svc.binary.put", queue, bulk: true } },
  commitBinary: { bus: { subject: "svc.binary.commit", queue } },
} as const satisfies Doors<typeof operations>;
