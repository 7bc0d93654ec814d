import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import { reasonOf, secretMode } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { fetchSubject } from "../../bus/subjects/subjects.ts";
import { type BinaryManifest, chunkBytes, decodeBinaryManifest } from "../../host/binary/mod.ts";
import { encodeFetch, openBlobs } from "../../wire/fetch.ts";
import type { Connection } from "../link/mod.ts";

const requestTimeoutMs = 30_000;
/** Number of concurrent chunk requests. Each chunk is in memory until it is written. */
const chunksAtOnce = 2;
/** Masters refuse requests that they cannot serve soon, and a whole fleet may request one. */
const pauses = { firstMs: 1_000, maxMs: 30_000 };

export interface FetchBinaryOptions {
  connection: Pick<Connection, "connected" | "request">;
  /** Encoded peel id. */
  peelId: string;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  /** A file that may contain the same chunks at the same offsets, such as the current executable. */
  seed?: string;
  /** Aborts the fetch. Chunks fetched so far are kept for the next attempt. */
  signal: AbortSignal;
}

/**
 * Fetches a binary from the masters into a file that only its owner can access. Keeps chunks of an earlier,
 * interrupted attempt, and copies chunks from the seed: two versions share most of them. While all masters
 * are unreachable or busy, it retries.
 *
 * @param digest of the manifest, hexadecimal
 * @param path a path in a directory that only this user can write to; links are not followed
 * @returns the manifest, when the file has exactly its content and is synced to disk
 * @throws SvcError `not_found` when the masters do not have the binary, `storage` when the file cannot be
 *   written, `bad_request` for a malformed manifest; `unavailable` or the reason of the signal when that aborts
 */
export async function fetchBinary(
  options: FetchBinaryOptions,
  digest: string,
  path: string,
): Promise<BinaryManifest> {
  const manifest = decodeBinaryManifest(await obtain(options, digest));
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
  const file = await onDisk(path, () => open(path, flags, secretMode));
  const seed = options.seed === undefined ? undefined : await open(options.seed, "r").catch(() => undefined);
  try {
    await onDisk(path, () => file.truncate(manifest.size));
    const bounds = { atOnce: chunksAtOnce, signal: options.signal };
    await mapBounded(manifest.chunks.entries(), bounds, async ([index, chunk], signal) => {
      const at = index * chunkBytes;
      const length = Math.min(chunkBytes, manifest.size - at);
      if (sha256Hex(await onDisk(path, () => readPart(file, at, length))) === chunk) return;
      const own = seed === undefined ? undefined : await readPart(seed, at, length).catch(() => undefined);
      const isSame = own !== undefined && sha256Hex(own) === chunk;
      const data = isSame ? own : await obtain({ ...options, signal }, chunk);
      if (data.length !== length) throw malformed(`the chunk ${chunk} has another size`);
      await onDisk(path, () => file.write(data, 0, length, at));
    });
    await onDisk(path, () => file.sync());
    const sha256 = await onDisk(path, () => hashOf(file, manifest.size));
    if (sha256 !== manifest.sha256) throw malformed("its SHA-256 does not match its chunks");
  } catch (thrown) {
    // A file that cannot be completed only wastes space.
    if (toSvcError(thrown).kind === "storage") await unlink(path).catch(() => {});
    throw thrown;
  } finally {
    await file.close();
    await seed?.close();
  }
  return manifest;
}

/** Fetches and verifies one blob, with retries. @throws as `fetchBinary` */
async function obtain(
  { connection, peelId, clock, jitter, log, signal }: FetchBinaryOptions,
  digest: string,
): Promise<Uint8Array> {
  const backoff = createBackoff({ ...pauses, jitter });
  for (;;) {
    signal.throwIfAborted();
    let reason: string;
    try {
      return await request(connection, peelId, digest);
    } catch (thrown) {
      const { kind } = toSvcError(thrown);
      if (kind !== "unavailable" && kind !== "rate_limited") throw thrown;
      reason = describeError(thrown);
      log.debug("part of a binary not fetched yet", { digest, reason });
    }
    await sleep(clock, backoff.next(), signal).catch((cause) => {
      throw new SvcError("unavailable", `the binary was not fetched in time: ${reason}`, { cause });
    });
  }
}

async function request(
  connection: FetchBinaryOptions["connection"],
  peelId: string,
  digest: string,
): Promise<Uint8Array> {
  if (!connection.connected) throw new SvcError("unavailable", "the bus is unreachable");
  const requested = connection.request(
    fetchSubject(peelId),
    encodeFetch({ binary: [digest] }),
    requestTimeoutMs,
  );
  const [data = new Uint8Array()] = openBlobs(
    await requested.catch((cause) => {
      throw new SvcError("unavailable", "no master answered", { cause });
    }),
  );
  if (sha256Hex(data) === digest) return data;
  throw new SvcError("unavailable", `the bytes of a master do not match the digest ${digest}`);
}

async function readPart(file: FileHandle, at: number, length: number): Promise<Uint8Array> {
  const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
  return buffer.subarray(0, bytesRead);
}

async function hashOf(file: FileHandle, size: number): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < size; at += chunkBytes) hash.update(await readPart(file, at, chunkBytes));
  return hash.digest("hex");
}

/** @throws SvcError `storage` naming the file */
async function onDisk<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new SvcError("storage", `cannot write ${path}: ${reasonOf(cause)}`, { cause });
  }
}

function malformed(what: string): SvcError {
  return new SvcError("bad_request", `malformed binary: ${what}`);
}
