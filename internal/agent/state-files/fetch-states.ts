import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { SvcError, toSvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { fetchSubject } from "../../bus/subjects/subjects.ts";
import type { WantedSnapshot } from "../../tree/files/mod.ts";
import { encodeFetch, type FetchRequest, maxDigests, openBlobs, openSnapshot } from "../../wire/fetch.ts";
import type { Connection } from "../link/mod.ts";

/** Long, because masters serve files one after the other when a whole fleet requests them. */
const fetchTimeoutMs = 30_000;
const findTimeoutMs = 5_000;
const maxBatchBytes = 600 * 1024;
const batchesAtOnce = 3;
/** While masters refuse a peel that requested too much: a large tree is worth the wait. */
const refusedPauses = { firstMs: 1_000, maxMs: 30_000 };
const maxRefusals = 6;

/** A blob to fetch. Its size is 0 when unknown. */
export interface Wanted {
  digest: string;
  size: number;
}

/** Client for the state files of the masters. */
export interface StatesClient {
  /**
   * The signed statement about the catalog that has an environment, or one snapshot of it. Not verified yet;
   * `undefined` when the response has none. @throws SvcError from the masters
   */
  find(environment: string, wanted?: WantedSnapshot): Promise<Uint8Array | undefined>;
  /**
   * Fetches blobs, verifies each, and passes it to `take`, in any order.
   *
   * @throws SvcError `unavailable` when the bus is unreachable or a master sends wrong bytes; errors of masters
   */
  fetch(wanted: readonly Wanted[], take: (digest: string, data: Uint8Array) => Promise<void>): Promise<void>;
}

export interface StatesClientOptions {
  connection: Pick<Connection, "connected" | "request">;
  /** Encoded peel id. */
  peelId: string;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  /** Aborts waiting for masters that refuse. */
  signal: AbortSignal;
}

export function createStatesClient({
  connection,
  peelId,
  clock,
  jitter,
  signal,
}: StatesClientOptions): StatesClient {
  const requestOnce = async <T>(
    request: FetchRequest,
    open: (answer: Uint8Array) => T,
    timeoutMs: number,
  ): Promise<T> => {
    if (!connection.connected) {
      throw new SvcError("unavailable", "cannot fetch state files from the masters: the bus is unreachable");
    }
    const requested = connection.request(fetchSubject(peelId), encodeFetch(request), timeoutMs);
    return open(
      await requested.catch((cause) => {
        throw new SvcError("unavailable", "no master responded to the request for state files", { cause });
      }),
    );
  };
  const send: typeof requestOnce = async (...requested) => {
    const refused = createBackoff({ ...refusedPauses, jitter });
    for (let refusals = 1; ; refusals++) {
      try {
        return await requestOnce(...requested);
      } catch (thrown) {
        if (toSvcError(thrown).kind !== "rate_limited" || refusals > maxRefusals) throw thrown;
      }
      await sleep(clock, refused.next(), signal);
    }
  };
  const fetchBatch = async (
    batch: readonly string[],
    take: (digest: string, data: Uint8Array) => Promise<void>,
  ) => {
    for (let rest = batch; rest.length > 0; ) {
      const blobs = await send({ digests: [...rest] }, openBlobs, fetchTimeoutMs);
      if (blobs.length > rest.length) throw new SvcError("unavailable", "a master sent too many blobs");
      const pairs = blobs.map((data, at) => [rest[at] ?? "", data] as const);
      for (const [digest, data] of pairs) {
        if (sha256Hex(data) === digest) continue;
        throw new SvcError(
          "unavailable",
          `the bytes of a master do not match the digest of the state file ${digest}`,
        );
      }
      await Promise.all(pairs.map(([digest, data]) => take(digest, data)));
      rest = rest.slice(blobs.length);
    }
  };
  return {
    find: (environment, { commit, snapshot } = {}) =>
      send({ environment, commit, snapshot }, openSnapshot, findTimeoutMs),
    async fetch(wanted, take) {
      await mapBounded(batchesOf(wanted), { atOnce: batchesAtOnce }, (batch) => fetchBatch(batch, take));
    },
  };
}

/** Splits the requests so that each response fits into one message, as far as the sizes are known. */
function batchesOf(wanted: readonly Wanted[]): string[][] {
  const batches: string[][] = [];
  let batch: string[] = [];
  let bytes = 0;
  for (const { digest, size } of wanted) {
    if (batch.length >= maxDigests || (batch.length > 0 && bytes + size > maxBatchBytes)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(digest);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
