import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  assembleManifest,
  type BlobFiles,
  blobsOf,
  createSnapshotSource,
  decodePage,
  decodeRoot,
  type Manifest,
  type ManifestFile,
  maxBlobBytes,
  type SnapshotSource,
  snapshotOf,
} from "../../tree/files/mod.ts";
import type { StatesClient, Wanted } from "./fetch-states.ts";
import type { CachedSnapshot, openSnapshotList } from "./state-snapshots.ts";

/** The files that this host has, and where others come from. */
export interface Cache {
  blobs: BlobFiles;
  list: ReturnType<typeof openSnapshotList>;
  /** Large files whose parts were put together once, and are what the list of files says. */
  readonly whole: Set<string>;
  /** @throws SvcError `unavailable` while there is no connection */
  masters(): StatesClient;
  clock: Clock;
  log: Log;
}

/** The content with a digest: from this host, or else from the masters. */
async function obtain({ blobs, masters, log }: Cache, digest: string): Promise<Uint8Array> {
  const cached = blobs.read(digest);
  if (cached !== undefined) return cached;
  let fetched: Uint8Array | undefined;
  await masters().fetch([{ digest, size: 0 }], async (_, data) => {
    fetched = data;
    await blobs.write(digest, data).catch((thrown) => {
      log.warn("a state file was fetched but not kept", { reason: describeError(thrown) });
    });
  });
  return fetched ?? new Uint8Array();
}

/**
 * The files of a snapshot, read on demand. Its digest follows from the manifest, whose bytes are verified here; this peel
 * computed it when it listed the manifest.
 */
export async function openSnapshot(cache: Cache, manifest: string): Promise<SnapshotSource> {
  const listed = cache.list.all().find((one) => one.manifest === manifest);
  const read = (digest: string) => obtain(cache, digest);
  return createSnapshotSource(manifest, await readManifest(cache, manifest), read, listed?.snapshot);
}

/** The list of files of a snapshot. */
async function readManifest(cache: Cache, digest: string): Promise<Manifest> {
  const root = decodeRoot(await obtain(cache, digest));
  const pages = [];
  for (const page of root.pages) pages.push(decodePage(await obtain(cache, page)));
  return assembleManifest(root, pages);
}

/**
 * Fetches what is missing of a snapshot, and lists it.
 *
 * @param isInForce it becomes the current one of its environment
 * @returns its snapshot, computed from the files
 * @throws SvcError when it cannot be fetched, or is not of this environment. What was fetched stays
 */
export async function syncSnapshot(
  cache: Cache,
  environment: string,
  { manifest }: CachedSnapshot,
  isInForce: boolean,
): Promise<string> {
  const { blobs, list, clock, log } = cache;
  const started = clock.monotonic();
  const fetched = { blobs: 0, bytes: 0 };
  const fill = (wanted: readonly Wanted[]) => fetchMissing(cache, wanted, fetched);
  await fill([{ digest: manifest, size: 0 }]);
  const root = decodeRoot(await obtain(cache, manifest));
  if (root.environment !== environment) {
    throw new SvcError("unavailable", `the masters returned a snapshot of another environment`);
  }
  await fill(root.pages.map((digest) => ({ digest, size: 0 })));
  const { files } = await readManifest(cache, manifest);
  await fill(
    files.flatMap((file) =>
      blobsOf(file).map((digest) => ({ digest, size: Math.min(file.size, maxBlobBytes) })),
    ),
  );
  for (const file of files) await verifyWhole(cache, file);
  const commits = root.origin.commits.map(({ commit }) => commit);
  const snapshot = snapshotOf(files.map((file) => [file.path, file]));
  list.add(environment, { manifest, commits, snapshot }, isInForce);
  log.info("state files fetched", {
    environment,
    manifest,
    commits,
    snapshot,
    files: files.length,
    ...fetched,
    duration_ms: Math.round(clock.monotonic() - started),
  });
  collect(list.all(), blobs, log);
  return snapshot;
}

/**
 * Compares the parts of a large file with the digest of the whole. Otherwise a master that lies about them leaves files
 * that have the right digest and can never be read, also when other masters have the true ones.
 *
 * @throws SvcError `unavailable`
 */
async function verifyWhole(cache: Cache, file: ManifestFile): Promise<void> {
  if (file.blobs === undefined) return;
  const id = [file.digest, ...file.blobs].join();
  if (cache.whole.has(id)) return;
  const hash = createHash("sha256");
  for (const blob of file.blobs) hash.update(await obtain(cache, blob));
  if (hash.digest("hex") !== file.digest) {
    throw new SvcError("unavailable", `the parts of the state file ${file.path} do not match its digest`);
  }
  cache.whole.add(id);
}

/** Fetches each content once that this host does not have. @param fetched counts them */
async function fetchMissing(
  { blobs, masters }: Cache,
  wanted: readonly Wanted[],
  fetched: { blobs: number; bytes: number },
): Promise<void> {
  const unique = [...new Map(wanted.map((item) => [item.digest, item])).values()];
  const absent = unique.filter(({ digest }) => !blobs.has(digest));
  if (absent.length === 0) return;
  await masters().fetch(absent, async (digest, data) => {
    await blobs.write(digest, data);
    fetched.blobs++;
    fetched.bytes += data.length;
  });
}

/** Removes the blobs of removed snapshots. If a remaining snapshot is unreadable, removes nothing. */
function collect(snapshots: readonly CachedSnapshot[], blobs: BlobFiles, log: Log): void {
  const retained = new Set<string>();
  try {
    for (const { manifest } of snapshots) {
      retained.add(manifest);
      const root = blobs.read(manifest);
      if (root === undefined) throw new SvcError("storage", `the snapshot ${manifest} is damaged`);
      for (const page of decodeRoot(root).pages) {
        if (retained.has(page)) continue;
        retained.add(page);
        const data = blobs.read(page);
        if (data === undefined)
          throw new SvcError("storage", `a page of the snapshot ${manifest} is damaged`);
        for (const blob of decodePage(data).flatMap(blobsOf)) retained.add(blob);
      }
    }
    const removed = blobs.removeOthers(retained);
    if (removed > 0) log.debug("state files removed from the cache", { blobs: removed });
  } catch (thrown) {
    log.warn("the cache of state files was not tidied", { reason: describeError(thrown) });
  }
}
