import { SvcError, toSvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connect.ts";
import { requestReply } from "../../bus/request.ts";
import { binaryCommitSubject, binaryPutSubject } from "../../bus/subjects.ts";
import { decodeCommitReply, decodePutReply } from "../../master/doors/bus/binary-message.ts";
import { askMasters } from "../ask-masters.ts";
import type { BinaryFile } from "./read-binary.ts";

/** A master reads all of a binary before it takes it. */
const commitTimeoutMs = 120_000;
const putTimeoutMs = 30_000;
/** Chunks under way at a time. */
const chunksAtOnce = 4;
/** Attempts in a row that bring no chunk to the masters. */
const maxIdleAttempts = 3;

/**
 * Brings a binary to the masters, apart from the chunks that they have already. An upload that was
 * interrupted goes on where it was.
 *
 * @param onProgress told how many of all chunks the masters have
 * @throws SvcError what the masters answer, `unavailable` when none does
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
    const missing = await commit(bus, binary);
    onProgress(all - missing.length, all);
    if (missing.length === 0) return;
    idleAttempts = missing.length < fewest ? 0 : idleAttempts + 1;
    fewest = Math.min(fewest, missing.length);
    let stored = all - missing.length;
    let problem: SvcError | undefined;
    const queue = missing.values();
    const work = async () => {
      for (const digest of queue) {
        if (problem !== undefined) return;
        await put(bus, digest, await binary.chunk(chunks.indexOf(digest)));
        onProgress(++stored, all);
      }
    };
    const workers = Array.from({ length: chunksAtOnce }, () =>
      work().catch((thrown) => {
        problem ??= toSvcError(thrown);
      }),
    );
    await Promise.all(workers);
    // After a master that ended with a chunk in its hands, another one says what is missing.
    if (problem !== undefined && problem.kind !== "unavailable") throw problem;
    if (idleAttempts < maxIdleAttempts) continue;
    throw problem ?? new SvcError("unavailable", "the masters do not keep the chunks of the binary");
  }
}

/** @returns the chunks that are missing; without any, it is committed */
async function commit(bus: Bus, { data: manifest }: BinaryFile): Promise<string[]> {
  const request = { manifest };
  const answer = await askMasters(bus, binaryCommitSubject, request, decodeCommitReply, commitTimeoutMs);
  return (answer ?? noMaster()).missing;
}

async function put(bus: Bus, digest: string, data: Uint8Array): Promise<void> {
  const reply = await requestReply(bus, binaryPutSubject, encode({ digest, data }), putTimeoutMs);
  decodePutReply(reply ?? noMaster());
}

function noMaster(): never {
  throw new SvcError("unavailable", "no master is answering: start svc-master");
}
