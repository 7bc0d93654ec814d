import { describeError, meaningOf, SvcError, toSvcError } from "../../base/errors.ts";
import { createSlots, type Slots } from "../../base/slots.ts";
import { type Bus, badReply } from "../../bus/connection/mod.ts";
import { encodeFailure, encodeRateLimited } from "../../bus/subjects/envelope.ts";
import { fetchSubject, mastersQueue } from "../../bus/subjects/subjects.ts";
import type { Budgets, LogLines } from "../../fleet/budget/mod.ts";
import { findSnapshot, type WantedSnapshot } from "../../tree/files/mod.ts";
import type { BlobCache, CatalogView } from "../../tree/publication/mod.ts";
import { encodeBlobs, encodeSnapshot, openFetch } from "../../wire/fetch.ts";

/** Bytes of blobs in one answer; it always contains the first blob. */
const maxAnswerBytes = 640 * 1024;
/** For answers that are made or on their way. */
const stateFileBounds = { atOnce: 32, ofOne: 8, waiting: 8192 };
/** Every answer is large: a peel that would wait long is refused, and asks again. */
const binaryBounds = { atOnce: 16, ofOne: 4, waiting: 1024 };

export interface FetchDeps {
  bus: Pick<Bus, "serve"> & { nats: Pick<Bus["nats"], "flush"> };
  catalog: Pick<CatalogView, "current">;
  blobs: BlobCache;
  /** Chunks and manifests of binaries. */
  binaries: BlobCache;
  budgets: Pick<Budgets, "take">;
  lines: Pick<LogLines, "say">;
}

/**
 * Serves state files and binaries to peels. Every peel may read all of them, and nothing else. A request is a
 * MessagePack map of one of three kinds.
 *
 * - `{digests: [hexadecimal SHA-256, …]}` is answered with `{blobs: [bytes, …]}`: the first requested ones,
 * in that order, as many as fit; or with an error map when the first one does not exist.
 * - `{binary: [hexadecimal SHA-256, …]}` is the same for manifests and chunks of binaries.
 * - `{environment, commit?, snapshot?}` is answered with `{manifest, commits}` of the snapshot in force, of the
 * newest one with that commit, or of the one with that digest, and the signed `statement` of the catalog with this snapshot. The catalog is a
 * blob like the others. Failures are answered with an error map. Each request goes to one master.
 */
export function serveFetch({ bus, catalog, blobs, binaries, budgets, lines }: FetchDeps): { stop(): void } {
  const refusal = encodeRateLimited();
  const stateFileSlots = createSlots(stateFileBounds);
  const binarySlots = createSlots(binaryBounds);
  const find = async (environment: string, wanted: WantedSnapshot) => {
    const published = await catalog.current();
    // An empty catalog: a publisher that found nothing genuine is about to fill it.
    if (
      published === undefined ||
      published.catalog.environments.size + published.catalog.candidates.size === 0
    )
      throw new SvcError("unavailable", "no state files are published yet");
    const { manifest, origin } = findSnapshot(published.catalog, environment, wanted);
    const commits = origin.commits.map(({ commit }) => commit);
    return encodeSnapshot({ manifest, commits, statement: published.statement });
  };
  const handOut = async (peelId: string, slots: Slots, read: () => Promise<Uint8Array[]>) => {
    const release = await slots.take(peelId);
    try {
      return encodeBlobs(await read());
    } finally {
      // The answer is written after this returns; bytes that the bus has not accepted yet still count.
      void Promise.resolve()
        .then(() => bus.nats.flush())
        .catch(() => {})
        .finally(release);
    }
  };
  const answer = async (peelId: string, data: Uint8Array): Promise<Uint8Array> => {
    try {
      const request = openFetch(data);
      if ("digests" in request) {
        return await handOut(peelId, stateFileSlots, () => readBlobs(blobs, request.digests, "state file"));
      }
      if ("binary" in request) {
        const read = () => readBlobs(binaries, request.binary, "part of a binary");
        return await handOut(peelId, binarySlots, read);
      }
      return await find(request.environment, request);
    } catch (thrown) {
      const { kind } = toSvcError(thrown);
      // A peel that sends too many requests must not fill the log too.
      const level = kind === "rate_limited" ? "debug" : meaningOf(kind).level;
      lines.say(level, "fetch refused", peelId, { reason: describeError(thrown) });
      return kind === "rate_limited" ? refusal : encodeFailure(thrown);
    }
  };
  return bus.serve(
    fetchSubject("*"),
    mastersQueue,
    (data, subject) => {
      const peelId = peelOf(subject);
      return budgets.take(peelId, "requests", data.length) ? answer(peelId, data) : refusal;
    },
    (subject) => {
      // It counts like any other: otherwise a peel could send these without limit.
      const peelId = peelOf(subject);
      if (budgets.take(peelId, "requests")) lines.say("warn", badReply, peelId);
    },
  );
}

const peelOf = (subject: string): string => subject.split(".")[2] ?? "";

/**
 * @param what names a blob in the error. @throws SvcError `not_found` when the first one does not exist,
 * `storage`
 */
async function readBlobs(blobs: BlobCache, digests: readonly string[], what: string): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  let bytes = 0;
  for (const digest of digests) {
    const data = await blobs.get(digest);
    if (data === undefined) {
      if (found.length > 0) break;
      throw new SvcError("not_found", `the ${what} with the digest ${digest} does not exist`);
    }
    bytes += data.length;
    if (found.length > 0 && bytes > maxAnswerBytes) break;
    found.push(data);
  }
  return found;
}
