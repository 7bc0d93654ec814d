import { binaryCommitSubject, binaryPutSubject, mastersQueue } from "../../bus/mod.ts";
import { type BinaryDeps, commitBinary, putChunk } from "../binaries/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const queue = mastersQueue;

export const binariesOverBus = {
  // A binary has hundreds of chunks.
  put: overBus({ operation: putChunk, subject: binaryPutSubject, queue, bulk: true }),
  commit: overBus({ operation: commitBinary, subject: binaryCommitSubject, queue }),
};

/** Accepts binaries for peels from operators. */
export function serveBinaries(door: BusDoor, binaries: BinaryDeps): void {
  serve(door, binariesOverBus.put, binaries);
  serve(door, binariesOverBus.commit, binaries);
}
