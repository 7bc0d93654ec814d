import { describeError, meaningOf, toSvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import type { Bus } from "../../../bus/connect.ts";
import { binaryCommitSubject, binaryPutSubject, mastersQueue } from "../../../bus/subjects.ts";
import type { Binaries } from "../../../fleet/binaries/binaries.ts";
import {
  decodeCommitRequest,
  decodePutRequest,
  encodeCommitReply,
  encodePutReply,
} from "./binary-message.ts";
import { encodeFailure } from "./message.ts";
import { serveOperators } from "./operator-request.ts";

export interface BinaryDoorDeps {
  bus: Pick<Bus, "serve">;
  binaries: Pick<Binaries, "put" | "commit">;
  log: Log;
}

/**
 * Takes binaries for peels from operators; of all masters one takes each request. In come MessagePack maps.
 *
 * - `svc.binary.put` `{digest, data}` stores a chunk.
 * - `svc.binary.commit` `{manifest, operator}` is answered with `{missing: [hexadecimal SHA-256, …]}`, the
 *   chunks that have to be stored first. Without any, the binary is committed and peels can fetch it.
 */
export function serveBinaries({ bus, binaries, log }: BinaryDoorDeps): void {
  // Hundreds of chunks make a binary: only what goes wrong is worth a record.
  bus.serve(binaryPutSubject, mastersQueue, async (request) => {
    try {
      const { digest, data } = decodePutRequest(request);
      await binaries.put(digest, data);
      return encodePutReply();
    } catch (thrown) {
      const { level } = meaningOf(toSvcError(thrown).kind);
      log[level]("bus request refused", { subject: binaryPutSubject, reason: describeError(thrown) });
      return encodeFailure(thrown);
    }
  });
  serveOperators({ bus, log }, binaryCommitSubject, mastersQueue, async (request) => {
    const { manifest, operator } = decodeCommitRequest(request);
    return encodeCommitReply(await binaries.commit(manifest, operator));
  });
}
