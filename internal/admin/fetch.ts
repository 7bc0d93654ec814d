import * as v from "valibot";
import { describeError, meaningOf, SvcError, toSvcError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { decode, encode } from "../base/msgpack.ts";
import type { Bus } from "../bus/connect.ts";
import { fetchSubject, mastersQueue } from "../bus/subjects.ts";
import type { BlobCache } from "../states/blob-cache.ts";
import { findSnapshot } from "../states/catalog.ts";
import type { CatalogView } from "../states/follow-catalog.ts";
import { isEnvironmentName } from "../states/manifest.ts";
import { encodeFailure } from "./message.ts";

const maxRequestBytes = 32 * 1024;
const maxDigests = 256;
/** Bytes of blobs in one answer; the first blob is in it in any case. */
const maxAnswerBytes = 640 * 1024;
/** Answers that are made or on their way at the same time, whoever asked. */
const answersAtOnce = 32;
/** Requests of one peel that wait at a time, and of all. */
const waitingOfOne = 8;
const waitingOfAll = 8192;

const requestSchema = v.union([
  v.object({
    digests: v.pipe(
      v.array(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))),
      v.minLength(1),
      v.maxLength(maxDigests),
    ),
  }),
  v.object({
    environment: v.pipe(v.string(), v.check(isEnvironmentName)),
    commit: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{7,64}$/))),
  }),
]);

export interface FetchDeps {
  bus: Pick<Bus, "serve"> & { nats: Pick<Bus["nats"], "flush"> };
  catalog: Pick<CatalogView, "current">;
  blobs: BlobCache;
  log: Log;
}

/**
 * Serves state files to peels: every peel may read every state file, and nothing else is here. In comes a
 * MessagePack map of one of two kinds.
 *
 * - `{digests: [hexadecimal SHA-256, …]}` is answered with `{blobs: [bytes, …]}`: the first ones that were
 *   asked for, in that order, as many as fit. An error map when there is no first one.
 * - `{environment, commit?}` is answered with `{manifest, commits}` of the snapshot that is in force, or of
 *   the newest one with that commit.
 *
 * Failures are answered by an error map. Of all masters one takes each request.
 */
export function serveFetch({ bus, catalog, blobs, log }: FetchDeps): { stop(): void } {
  const slots = createSlots();
  const find = async (environment: string, commit: string | undefined) => {
    const published = await catalog.current();
    if (published === undefined) throw new SvcError("unavailable", "no state files are published yet");
    const { manifest, commits } = findSnapshot(published, environment, commit);
    return encode({ manifest, commits: [...commits] });
  };
  const handOut = async (peelId: string, digests: readonly string[]) => {
    const release = await slots.take(peelId);
    try {
      return encode({ blobs: await readBlobs(blobs, digests) });
    } finally {
      // The answer is written after this returns; what the bus has not taken yet still counts.
      void Promise.resolve()
        .then(() => bus.nats.flush())
        .catch(() => {})
        .finally(release);
    }
  };
  return bus.serve(fetchSubject("*"), mastersQueue, async (data, subject) => {
    const peelId = subject.split(".")[2] ?? "";
    try {
      const request = readRequest(data);
      if ("digests" in request) return await handOut(peelId, request.digests);
      return await find(request.environment, request.commit);
    } catch (thrown) {
      const { kind } = toSvcError(thrown);
      // Who asks too much does not also fill the log.
      log[kind === "rate_limited" ? "debug" : meaningOf(kind).level]("fetch refused", {
        peel_id: peelId,
        reason: describeError(thrown),
      });
      return encodeFailure(thrown);
    }
  });
}

async function readBlobs(blobs: BlobCache, digests: readonly string[]): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  let bytes = 0;
  for (const digest of digests) {
    const data = await blobs.get(digest);
    if (data === undefined) {
      if (found.length > 0) break;
      throw new SvcError("not_found", `there is no state file with the digest ${digest}`);
    }
    bytes += data.length;
    if (found.length > 0 && bytes > maxAnswerBytes) break;
    found.push(data);
  }
  return found;
}

/** @throws SvcError `bad_request` naming the field */
function readRequest(data: Uint8Array): v.InferOutput<typeof requestSchema> {
  if (data.length > maxRequestBytes) {
    throw new SvcError("bad_request", `a request has at most ${maxRequestBytes} bytes`);
  }
  const parsed = v.safeParse(requestSchema, decode(data));
  if (parsed.success) return parsed.output;
  throw new SvcError("bad_request", "a request has digests, or environment and perhaps commit");
}

/** Who may be answered now: peels that ask much wait behind each other, and not without end. */
function createSlots(): { take(peelId: string): Promise<() => void> } {
  const waiting: (() => void)[] = [];
  const perPeel = new Map<string, number>();
  let free = answersAtOnce;
  const release = (peelId: string) => {
    const left = (perPeel.get(peelId) ?? 1) - 1;
    if (left === 0) perPeel.delete(peelId);
    else perPeel.set(peelId, left);
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    async take(peelId) {
      const mine = perPeel.get(peelId) ?? 0;
      if (mine >= waitingOfOne || waiting.length >= waitingOfAll) {
        throw new SvcError("rate_limited", "too many requests for state files at once; ask again later");
      }
      perPeel.set(peelId, mine + 1);
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return () => release(peelId);
    },
  };
}
