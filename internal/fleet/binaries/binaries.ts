import { createHash } from "node:crypto";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { type BlobStore, openContentStore, readBlob } from "../../bus/storage/mod.ts";
import {
  type BinaryManifest,
  chunkBytes,
  decodeBinaryManifest,
  maxBinaryBytes,
  maxManifestBytes,
} from "../../host/binary/mod.ts";
import {
  type BinaryCatalog,
  decodeBinaryCatalog,
  encodeBinaryCatalog,
  type StoredBinary,
} from "./catalog.ts";

/** Number of binaries to keep, needed or not. */
const keptBinaries = 4;
/** Maximum number of binaries, including those that jobs and rollouts reference. */
const maxBinaries = 8;
/** Space for the kept binaries, and for uploads in progress. */
const maxStoredBytes = (keptBinaries + 2) * maxBinaryBytes;
/** How long to keep unreferenced chunks, for uploads in progress and for peels that still fetch them. */
const graceMs = 3600_000;
/** Number of chunks to read ahead of the one being verified. */
const readAhead = 4;

/** The result of a commit: the digests that are still missing, or the binary. */
export type Committed = { missing: readonly string[] } | { binary: StoredBinary };

/** Binaries for peels, in the object store of the masters. */
export interface Binaries {
  /**
   * Stores a chunk of a binary before its commit.
   *
   * @throws SvcError `bad_request` when the bytes do not match the digest, `too_large`, `conflict` when the
   *   store is full, `storage`
   */
  put(digest: string, data: Uint8Array): Promise<void>;
  /**
   * Makes a binary available to peels, if all its bytes are stored and correct. Until then it is not visible.
   *
   * @param manifest encoded
   * @throws SvcError `bad_request` for a manifest that is malformed or does not match its chunks, `conflict`
   *   when jobs and rollouts need too many binaries, `storage`
   */
  commit(manifest: Uint8Array, operator: string): Promise<Committed>;
  /** Removes chunks unreferenced for an hour. @returns the number of chunks. @throws SvcError `storage` */
  collect(): Promise<number>;
}

export interface BinariesDeps {
  store: BlobStore;
  /** Digests of the manifests that unfinished jobs and rollouts reference. */
  named(): Promise<ReadonlySet<string>>;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  /** Capacity of the store in bytes, for tests. */
  capacityBytes?: number;
}

/** Opens the binaries in a provisioned store. Sends no request. */
export function openBinaries(deps: BinariesDeps): Binaries {
  const { store, clock, jitter, log, capacityBytes = maxStoredBytes } = deps;
  const open: Open = { ...deps, content: openContentStore(store, graceMs, clock) };
  return {
    async put(digest, data) {
      if (data.length === 0) throw new SvcError("bad_request", "a chunk must not be empty");
      if (data.length > chunkBytes)
        throw new SvcError("too_large", `a chunk must have at most ${chunkBytes} bytes`);
      if (sha256Hex(data) !== digest) {
        throw new SvcError("bad_request", `the bytes of a chunk do not match its digest ${digest}`);
      }
      if ((await store.size()) + data.length > capacityBytes) {
        throw new SvcError(
          "conflict",
          "the store of binaries is full: unused chunks are removed after an hour",
        );
      }
      await store.put(digest, data);
    },

    async commit(encoded, operator) {
      if (encoded.length > maxManifestBytes) {
        throw new SvcError("too_large", `a manifest must have at most ${maxManifestBytes} bytes`);
      }
      const manifest = decodeBinaryManifest(encoded);
      return retryOnConflict(() => tryCommit(open, manifest, encoded, operator), {
        exhausted: "other binaries were committed at the same time: run the command again",
        // Each attempt reads the whole binary.
        pause: { clock, jitter },
      });
    },

    async collect() {
      const { binaries, floor, revision, digest } = await current(open);
      if (digest === undefined) {
        // Uploads that were never committed are listed once a head exists.
        if ((await store.size()) > 0) await replace(open, { binaries, floor }, revision);
        return 0;
      }
      const parts = await partsOf(open, binaries);
      const removed = await open.content.collect(parts.add(digest), async (doomed) => {
        // The previous catalog is always among them, and does not alone justify a new one.
        if (doomed.size < 2) return false;
        // A commit that starts now requests these chunks again. One that has already read the catalog is
        // refused, or moves the head first: then nothing is removed.
        const next = { binaries, floor: Math.max(floor, ...[...doomed.values()].flat()) };
        return replace(open, next, revision);
      });
      if (removed > 0) log.info("chunks that no binary names were removed", { chunks: removed });
      return removed;
    },
  };
}

type Open = BinariesDeps & { readonly content: ReturnType<typeof openContentStore> };

async function tryCommit(
  open: Open,
  manifest: BinaryManifest,
  encoded: Uint8Array,
  operator: string,
): Promise<Committed | typeof conflict> {
  const { store, clock, log } = open;
  const { binaries, floor, revision } = await current(open);
  const parts = await partsOf(open, binaries);
  const missing = await verify(store, manifest, (chunk, place) => parts.has(chunk) || place > floor);
  if (missing.length > 0) return { missing };
  const digest = sha256Hex(encoded);
  const { sha256, size, platform, version } = manifest;
  const described = { manifest: digest, sha256, size, platform, version };
  const binary = { ...described, at: rfc3339(clock.now()), by: operator };
  const kept = await save(open, binary, binaries);
  await store.put(digest, encoded);
  if (!(await replace(open, { binaries: kept, floor }, revision))) return conflict;
  const gone = binaries.filter((one) => !kept.some((other) => other.manifest === one.manifest));
  log.info("binary committed", { ...described, operator, dropped: gone.map((one) => one.manifest) });
  return { binary };
}

async function current({ store, log }: Open): Promise<BinaryCatalog & { revision: number; digest?: string }> {
  const head = await store.head();
  if (head === undefined) return { binaries: [], floor: 0, revision: 0 };
  const { revision, digest } = head;
  const data = digest === undefined ? undefined : await readBlob(store, digest);
  if (digest === undefined || data === undefined) {
    log.error("the catalog of binaries is damaged: commit the binaries again");
    // A chunk stored before this catalog may already be selected for removal.
    return { binaries: [], floor: revision, revision, ...defined({ digest }) };
  }
  return { ...decodeBinaryCatalog(data), revision, digest };
}

async function replace({ content }: Open, catalog: BinaryCatalog, revision: number): Promise<boolean> {
  const data = encodeBinaryCatalog(catalog);
  return (await content.commit({ digest: sha256Hex(data), data, token: 0 }, revision)) !== undefined;
}

/** All manifests and chunks of the binaries. */
async function partsOf({ store, log }: Open, binaries: readonly StoredBinary[]): Promise<Set<string>> {
  const parts = new Set<string>();
  for (const { manifest } of binaries) {
    const data = await readBlob(store, manifest);
    if (data === undefined) {
      log.error("a binary cannot be read: commit it again", { manifest });
      continue;
    }
    parts.add(manifest);
    for (const chunk of decodeBinaryManifest(data).chunks) parts.add(chunk);
  }
  return parts;
}

/** The binaries that a commit keeps besides the new one. */
async function save(
  { named }: Open,
  added: StoredBinary,
  before: readonly StoredBinary[],
): Promise<StoredBinary[]> {
  const others = before.filter(({ manifest }) => manifest !== added.manifest);
  const needed = others.length < keptBinaries ? new Set<string>() : await named();
  const kept = [added, ...others].filter(
    ({ manifest }, index) => index < keptBinaries || needed.has(manifest),
  );
  if (kept.length <= maxBinaries) return kept;
  throw new SvcError(
    "conflict",
    `unfinished jobs and rollouts need ${maxBinaries} binaries, the maximum: wait until one of them ends`,
  );
}

/**
 * Verifies a binary in the store.
 *
 * @param mayUse whether a chunk at this position will be kept
 * @returns the missing chunks without duplicates; empty when the binary is complete and correct
 * @throws SvcError `bad_request` when the chunks are correct, but do not match the binary
 */
async function verify(
  store: Pick<BlobStore, "find">,
  { chunks, size, sha256 }: BinaryManifest,
  mayUse: (chunk: string, place: number) => boolean,
): Promise<string[]> {
  const missing = new Set<string>();
  const whole = createHash("sha256");
  let bytes = 0;
  const ahead: { chunk: string; found: ReturnType<BlobStore["find"]> }[] = [];
  const next = chunks.values();
  const readOne = () => {
    const { value: chunk } = next.next();
    if (chunk === undefined) return;
    const found = store.find(chunk);
    // If it fails while we wait for an earlier one, the error is thrown when its turn comes.
    found.catch(() => {});
    ahead.push({ chunk, found });
  };
  for (let i = 0; i < readAhead; i++) readOne();
  for (let item = ahead.shift(); item !== undefined; item = ahead.shift()) {
    const { chunk } = item;
    const found = await item.found;
    readOne();
    if (found === undefined || sha256Hex(found.data) !== chunk || !mayUse(chunk, found.place)) {
      missing.add(chunk);
      continue;
    }
    bytes += found.data.length;
    whole.update(found.data);
  }
  if (missing.size > 0) return [...missing];
  if (bytes !== size) throw mismatch(`its size is ${size} bytes, but its chunks have ${bytes}`);
  if (whole.digest("hex") !== sha256) throw mismatch("its SHA-256 does not match its chunks");
  return [];
}

function mismatch(what: string): SvcError {
  return new SvcError("bad_request", `malformed manifest of a binary: ${what}`);
}
