import { SvcError, toSvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { binaryOperations } from "../../fleet/binaries/mod.ts";
import { request } from "../request.ts";
import type { BinaryFile } from "./read-binary.ts";

/** A master reads all of a binary before it takes it. */
const commitTimeoutMs = 120_000;
const putTimeoutMs = 30_000;
/** Chunks under way at a time. */
const chunksAtOnce = 4;
/** Attempts in a row that bring no chunk to the masters. */
const maxIdleAttempts = 3;

/**
 * Uploads a binary to the masters, without the chunks that they already have. An interrupted upload continues
 * where it stopped.
 *
 * @param onProgress called with the number of chunks that the masters have
 * @throws SvcError the errors of the masters; `unavailable` when none answers
 */
export async function uploadBinary(
  bus: Bus,
  binary: BinaryFile,
  onProgress: (stored: number, all: number) => void,
): Promise<void> {
  const { chunks } = binary.manifest;
  const all = new Set(chunks).size;
  let fewest = Number.POSITIVE_INFINITY;
  let idleAttempts = 0;
  for (;;) {
    const { missing } = await request(
      bus,
      binaryOperations.commitBinary,
      { manifest: binary.data },
      { timeoutMs: commitTimeoutMs },
    );
    onProgress(all - missing.length, all);
    if (missing.length === 0) return;
    idleAttempts = missing.length < fewest ? 0 : idleAttempts + 1;
    fewest = Math.min(fewest, missing.length);
    let stored = all - missing.length;
    const uploading = mapBounded(missing, { atOnce: chunksAtOnce }, async (digest) => {
      const data = await binary.chunk(chunks.indexOf(digest));
      await request(bus, binaryOperations.putChunk, { digest, data }, { timeoutMs: putTimeoutMs });
      onProgress(++stored, all);
    });
    const problem = await uploading.then(() => undefined, toSvcError);
    // After a master that ended with a chunk in its hands, another one says what is missing.
    if (problem !== undefined && problem.kind !== "unavailable") throw problem;
    if (idleAttempts < maxIdleAttempts) continue;
    throw problem ?? new SvcError("unavailable", "the masters do not keep the chunks of the binary");
  }
}
