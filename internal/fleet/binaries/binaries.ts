import { createHash } from "node:crypto";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { BlobStore } from "../../bus/blob-store.ts";
import { openContentStore, readBlob } from "../../bus/content-store.ts";
import {
  type BinaryManifest,
  chunkBytes,
  decodeBinaryManifest,
  maxBinaryBytes,
  maxManifestBytes,
} from "../../host/binary/manifest.ts";
import {
  type BinaryCatalog,
  decodeBinaryCatalog,
  encodeBinaryCatalog,
  type StoredBinary,
} from "./catalog.ts";

/** Binaries that stay whether anybody needs them or not. */
const keptBinaries = 4;
/** Those that jobs and rollouts name stay as well, up to so many together. */
const mostBinaries = 8;
/** Room for those that stay, and for uploads under way. */
const maxStoredBytes = (keptBinaries + 2) * maxBinaryBytes;
/** Chunks that no binary names stay this long, for uploads under way and peels that still fetch them. */
const graceMs = 3600_000;
/** Chunks that are read ahead of the one that is verified. */
const readAhead = 4;

/** What became of a request to commit: the digests that have to be stored first, or the binary. */
export type Committed = { missing: readonly string[] } | { binary: StoredBinary };

/** Binaries for peels, in the object store of the masters. */
export interface Binaries {
  /**
   * Stores a chunk of a binary that is to be committed.
   *
   * @throws SvcError `bad_request` when these are not the bytes of the digest, `too_large`, `conflict` when
   *   the store is full, `storage`
   */
  put(digest: string, data: Uint8Array): Promise<void>;
  /**
   * Makes a binary fetchable, if every byte of it is there and right. Nobody sees anything of it before.
   *
   * @param manifest encoded
   * @throws SvcError `bad_request` for a manifest that is malformed or does not fit its chunks, `conflict`
   *   when too many binaries are needed by jobs and rollouts, `storage`
   */
  commit(manifest: Uint8Array, operator: string): Promise<Committed>;
  /** Removes what no binary has named for an hour. @returns how many chunks. @throws SvcError `storage` */
  collect(): Promise<number>;
}

export interface BinariesDeps {
  store: BlobStore;
  /** Digests of the manifests that jobs and rollouts name which have not ended. */
  named(): Promise<ReadonlySet<string>>;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  /** Bytes that the store may take; for tests. */
  capacityBytes?: number;
}

/** Opens the binaries in a store that was provisioned before; no request is sent. */
export function openBinaries(deps: BinariesDeps): Binaries {
  const { store, named, clock, jitter, log, capacityBytes = maxStoredBytes } = deps;
  const content = openContentStore(store, graceMs, clock);

  const current = async (): Promise<BinaryCatalog & { revision: number; digest?: string }> => {
    const head = await store.head();
    if (head === undefined) return { binaries: [], floor: 0, revision: 0 };
    const { revision, digest } = head;
    const data = await readBlob(store, digest);
    if (data === undefined) {
      log.error("the catalog of binaries is damaged: they have to be committed again");
      // What was stored before this catalog may be on its way out.
      return { binaries: [], floor: revision, revision, digest };
    }
    return { ...decodeBinaryCatalog(data), revision, digest };
  };
  const replace = async (catalog: BinaryCatalog, revision: number): Promise<boolean> => {
    const data = encodeBinaryCatalog(catalog);
    return (await content.commit({ digest: sha256Hex(data), data, token: 0 }, revision)) !== undefined;
  };
  /** Everything the binaries consist of. */
  const partsOf = async (binaries: readonly StoredBinary[]): Promise<Set<string>> => {
    const parts = new Set<string>();
    for (const { manifest } of binaries) {
      const data = await readBlob(store, manifest);
      if (data === undefined) {
        log.error("a binary cannot be read: it has to be committed again", { manifest });
        continue;
      }
      parts.add(manifest);
      for (const chunk of decodeBinaryManifest(data).chunks) parts.add(chunk);
    }
    return parts;
  };

  /** Whom a commit keeps beside the new one. */
  const keep = async (added: StoredBinary, before: readonly StoredBinary[]): Promise<StoredBinary[]> => {
    const others = before.filter(({ manifest }) => manifest !== added.manifest);
    const needed = others.length < keptBinaries ? new Set<string>() : await named();
    const kept = [added, ...others].filter(
      ({ manifest }, index) => index < keptBinaries || needed.has(manifest),
    );
    if (kept.length <= mostBinaries) return kept;
    throw new SvcError(
      "conflict",
      `${mostBinaries} binaries are needed by jobs and rollouts that have not ended: wait for one of them`,
    );
  };

  return {
    async put(digest, data) {
      if (data.length === 0) throw new SvcError("bad_request", "a chunk has no bytes");
      if (data.length > chunkBytes)
        throw new SvcError("too_large", `a chunk has at most ${chunkBytes} bytes`);
      if (sha256Hex(data) !== digest) {
        throw new SvcError("bad_request", `a chunk arrived with other bytes than those of ${digest}`);
      }
      if ((await store.size()) + data.length > capacityBytes) {
        throw new SvcError("conflict", "no more room for binaries: those that nobody needs go after an hour");
      }
      await store.put(digest, data);
    },

    async commit(encoded, operator) {
      if (encoded.length > maxManifestBytes) {
        throw new SvcError("too_large", `a manifest has at most ${maxManifestBytes} bytes`);
      }
      const manifest = decodeBinaryManifest(encoded);
      const digest = sha256Hex(encoded);
      const attempt = async (): Promise<Committed | typeof conflict> => {
        const { binaries, floor, revision } = await current();
        const parts = await partsOf(binaries);
        const missing = await verify(store, manifest, (chunk, place) => parts.has(chunk) || place > floor);
        if (missing.length > 0) return { missing };
        const { sha256, size, platform, version } = manifest;
        const at = rfc3339(clock.now());
        const binary = { manifest: digest, sha256, size, platform, version, at, by: operator };
        const kept = await keep(binary, binaries);
        await store.put(digest, encoded);
        if (!(await replace({ binaries: kept, floor }, revision))) return conflict;
        const gone = binaries.filter((one) => !kept.some((other) => other.manifest === one.manifest));
        log.info("binary committed", {
          manifest: digest,
          sha256,
          size,
          platform,
          version,
          operator,
          dropped: gone.map((one) => one.manifest),
        });
        return { binary };
      };
      return retryOnConflict(attempt, {
        exhausted: "other binaries were committed at the same time: run the command again",
        // Each attempt reads the whole binary.
        pause: { clock, jitter },
      });
    },

    async collect() {
      const { binaries, floor, revision, digest } = await current();
      if (digest === undefined) {
        // Uploads that were never committed are listed once there is a head.
        if ((await store.size()) > 0) await replace({ binaries, floor }, revision);
        return 0;
      }
      const parts = await partsOf(binaries);
      const removed = await content.collect(parts.add(digest), async (doomed) => {
        // The catalog before this one is always among them, and alone no reason to write another.
        if (doomed.size < 2) return false;
        // A commit that begins now and names these chunks asks for them; one that has read the catalog
        // already is refused, or moves the head first: then nothing is removed.
        return replace({ binaries, floor: Math.max(floor, ...[...doomed.values()].flat()) }, revision);
      });
      if (removed > 0) log.info("chunks that no binary names were removed", { chunks: removed });
      return removed;
    },
  };
}

/**
 * Reads a binary as the store has it.
 *
 * @param mayUse whether a chunk that stands at this place will stay
 * @returns the chunks that have to be stored, each once; none when everything is there and right
 * @throws SvcError `bad_request` when the chunks are right and do not make up the binary
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
    // One that fails while an earlier one is waited for is told when its turn comes.
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
  if (bytes !== size) throw mismatch(`${size} bytes, and its chunks have ${bytes}`);
  if (whole.digest("hex") !== sha256) throw mismatch("another SHA-256 than its chunks together");
  return [];
}

function mismatch(what: string): SvcError {
  return new SvcError("bad_request", `malformed manifest of a binary: it has ${what}`);
}
