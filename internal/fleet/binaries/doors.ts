import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const queue = "svc.masters";

/** How binaries for peels are uploaded. */
export const binaryDoors = {
  // Not over REST: a chunk is bytes, which JSON has no form for. A binary has hundreds of them.
  putChunk: { bus: { subject: "svc.binary.put", queue, bulk: true } },
  // Not over REST: its chunks are not.
  commitBinary: { bus: { subject: "svc.binary.commit", queue } },
} as const satisfies Doors<typeof operations>;
