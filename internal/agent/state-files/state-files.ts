import { join } from "node:path";
import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep, type Timer } from "../../base/clock.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  assembleManifest,
  type BlobFiles,
  blobsOf,
  type Catalog,
  createSnapshotSource,
  decodeCatalog,
  decodePage,
  decodeRoot,
  findSnapshot,
  isEnvironmentName,
  type Manifest,
  maxBlobBytes,
  openBlobFiles,
  openStatement,
  type SignedStatement,
  type SnapshotSource,
} from "../../tree/files/mod.ts";
import type { Connection } from "../link/mod.ts";
import { createStatesClient, type StatesClient, type Wanted } from "./fetch-states.ts";
import { type CachedSnapshot, openSnapshotList } from "./state-snapshots.ts";

/** Specification, "Settings startup wait". */
const firstSyncMs = 60_000;
const pauses = { firstMs: 10_000, longestMs: 5 * 60_000 };
const base = "base";

/** The state files of a peel: published by the masters, cached on this host. */
export interface StateFiles {
  /**
   * The files of an environment, by default `base`: the version in force at the masters, or the last fetched
   * version when they are unreachable. With a commit, the snapshot of that commit.
   *
   * @throws SvcError `not_found` when the environment or commit does not exist; `unavailable` when nothing
   *   was ever fetched and the masters are unreachable
   */
  open(environment?: string, commit?: string): Promise<SnapshotSource>;
  /**
   * Resolves when files of `base` exist, or 60 s after the start or the first connection, whichever is later.
   *
   * @returns whether they exist
   */
  waitForFirstSync(signal: AbortSignal): Promise<boolean>;
  /** Handles a signed statement about the version in force. Logs a statement that is not acceptable. */
  told(statement: Uint8Array | undefined): void;
  /** Uses this connection from now on. Returns a function that stops this. */
  attach(connection: Pick<Connection, "connected" | "request">): () => void;
}

export interface StateFilesOptions {
  /** `states_cache`. */
  dir: string;
  /** Encoded peel id. */
  peelId: string;
  /** Statements must be signed with one of these keys. */
  commandKeys: { readonly current: readonly string[] };
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

/** Opens the cache. Reads only the list of its content, and writes nothing. */
export function openStateFiles(options: StateFilesOptions): StateFiles {
  const { dir, peelId, clock, jitter, log } = options;
  const blobs = openBlobFiles(join(dir, "blobs"));
  const list = openSnapshotList(dir, log);
  const firstSync = Promise.withResolvers<void>();
  /** The start, and then the first connection: all who wait for the first sync wait for the same time. */
  let waitSince = clock.monotonic();
  let client: StatesClient | undefined;
  let wanted: string | undefined;
  let latest: SignedStatement | undefined;
  let lastCatalog: { digest: string; catalog: Catalog } | undefined;
  let retry: Timer | undefined;
  const backoff = createBackoff({ ...pauses, jitter });
  let queue: Promise<unknown> = Promise.resolve();
  if (list.current(base) !== undefined) firstSync.resolve();

  const masters = (): StatesClient => {
    if (client !== undefined) return client;
    throw new SvcError("unavailable", "cannot fetch state files from the masters: the bus is unreachable");
  };
  const obtain = async (digest: string): Promise<Uint8Array> => {
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
  };
  /** Runs one fetch at a time: a later one finds the files of an earlier one in the cache. */
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const done = queue.then(run);
    queue = done.catch(() => {});
    return done;
  };

  const sync = async (environment: string, snapshot: CachedSnapshot, inForce: boolean) => {
    const started = clock.monotonic();
    let count = 0;
    let bytes = 0;
    const fill = async (missing: readonly Wanted[]) => {
      const unique = [...new Map(missing.map((item) => [item.digest, item])).values()];
      const absent = unique.filter(({ digest }) => !blobs.has(digest));
      if (absent.length === 0) return;
      await masters().fetch(absent, async (digest, data) => {
        await blobs.write(digest, data);
        count++;
        bytes += data.length;
      });
    };
    await fill([{ digest: snapshot.manifest, size: 0 }]);
    const root = decodeRoot(await obtain(snapshot.manifest));
    if (root.environment !== environment) {
      throw new SvcError("unavailable", `the masters returned a snapshot of another environment`);
    }
    await fill(root.pages.map((digest) => ({ digest, size: 0 })));
    const { files } = await readManifest(snapshot.manifest, obtain);
    await fill(
      files.flatMap((file) =>
        blobsOf(file).map((digest) => ({ digest, size: Math.min(file.size, maxBlobBytes) })),
      ),
    );
    const commits = root.origin.commits.map(({ commit }) => commit);
    list.add(environment, { manifest: snapshot.manifest, commits }, inForce);
    log.info("state files fetched", {
      environment,
      manifest: snapshot.manifest,
      commits,
      files: files.length,
      blobs: count,
      bytes,
      duration_ms: Math.round(clock.monotonic() - started),
    });
    collect(list.all(), blobs, log);
    if (environment === base && inForce) firstSync.resolve();
  };

  const follow = () =>
    inTurn(async () => {
      const manifest = wanted;
      if (manifest === undefined || client === undefined) return;
      if (list.current(base)?.manifest === manifest) return;
      try {
        await sync(base, { manifest, commits: [] }, true);
        backoff.reset();
      } catch (thrown) {
        const inMs = backoff.next();
        log.warn("state files not fetched; the previous version stays in force", {
          reason: describeError(thrown),
          retry_in_ms: inMs,
        });
        retry?.cancel();
        retry = clock.after(inMs, () => void follow());
      }
    });

  /**
   * Verifies a signed statement. If it is older than the newest one of this peel, for example from a master
   * that lags behind, the newer one is used.
   */
  const accept = (bytes: Uint8Array | undefined): SignedStatement => {
    const keys = options.commandKeys.current;
    try {
      const statement = openStatement(bytes, keys);
      const { newest } = list;
      // A replaced key, which may have been stolen, must not leave a version behind.
      if (newest !== undefined && keys.includes(newest.key) && statement.version < newest.version) {
        throw new SvcError("forbidden", "state files refused: they are older than the version of this peel");
      }
      latest = statement;
    } catch (thrown) {
      log.error("state files refused", { reason: describeError(thrown) });
      if (latest === undefined || !keys.includes(latest.key)) throw thrown;
      return latest;
    }
    try {
      list.record(latest);
    } catch (thrown) {
      log.warn("the version of the state files was not kept", { reason: describeError(thrown) });
    }
    return latest;
  };
  const catalogOf = async ({ catalog: digest }: SignedStatement): Promise<Catalog> => {
    if (lastCatalog?.digest === digest) return lastCatalog.catalog;
    await masters().fetch([{ digest, size: 0 }], async (_, data) => {
      lastCatalog = { digest, catalog: decodeCatalog(data) };
    });
    return lastCatalog?.catalog ?? new Map();
  };
  const ask = async (environment: string, commit?: string): Promise<CachedSnapshot> => {
    const statement = accept(await masters().find(environment, commit));
    if (environment === base && commit === undefined && statement.base !== undefined) {
      return { manifest: statement.base, commits: [] };
    }
    return findSnapshot(await catalogOf(statement), environment, commit);
  };

  /** The version in force at the masters, or the cached one when they are unreachable. */
  const find = async (environment: string, commit?: string): Promise<CachedSnapshot> => {
    const cached = commit === undefined ? list.current(environment) : list.withCommit(environment, commit);
    try {
      return await ask(environment, commit);
    } catch (thrown) {
      const { kind, message } = toSvcError(thrown);
      // A removed environment is not served from the cache. A commit is: it never changes.
      if (cached === undefined || (kind === "not_found" && commit === undefined)) throw thrown;
      log.info("cached state files are used", {
        environment,
        manifest: cached.manifest,
        reason: message,
      });
      return cached;
    }
  };

  return {
    async open(environment = base, named) {
      const commit = named?.toLowerCase();
      if (!isEnvironmentName(environment)) {
        throw new SvcError("bad_request", "environment: not a valid environment name");
      }
      if (commit !== undefined && !/^[0-9a-f]{7,64}$/.test(commit)) {
        throw new SvcError("bad_request", "commit: expected at least 7 hexadecimal digits");
      }
      return inTurn(async () => {
        const before = list.current(environment);
        let snapshot = await find(environment, commit);
        const isKnown = list.all().some(({ manifest }) => manifest === snapshot.manifest);
        const inForce = commit === undefined;
        if (!isKnown || (inForce && before?.manifest !== snapshot.manifest)) {
          try {
            await sync(environment, snapshot, inForce);
          } catch (thrown) {
            if (before === undefined || !inForce) throw thrown;
            log.warn("state files not fetched; cached ones are used", {
              environment,
              reason: describeError(thrown),
            });
            snapshot = before;
          }
        }
        return createSnapshotSource(snapshot.manifest, await readManifest(snapshot.manifest, obtain), obtain);
      });
    },

    async waitForFirstSync(signal) {
      const late = new AbortController();
      const ended = AbortSignal.any([signal, late.signal]);
      const leftMs = Math.max(0, waitSince + firstSyncMs - clock.monotonic());
      await Promise.race([firstSync.promise, sleep(clock, leftMs, ended).catch(() => {})]);
      late.abort();
      return list.current(base) !== undefined;
    },

    told(bytes) {
      try {
        wanted = accept(bytes).base ?? wanted;
      } catch {
        return;
      }
      if (list.current(base)?.manifest !== wanted) void follow();
    },

    attach(connection) {
      waitSince = clock.monotonic();
      const leaving = new AbortController();
      const mine = createStatesClient({ connection, peelId, clock, jitter, signal: leaving.signal });
      client = mine;
      return () => {
        leaving.abort(new SvcError("unavailable", "the connection to the masters ended"));
        if (client === mine) client = undefined;
        retry?.cancel();
      };
    },
  };
}

async function readManifest(
  digest: string,
  read: (digest: string) => Promise<Uint8Array>,
): Promise<Manifest> {
  const root = decodeRoot(await read(digest));
  const pages = [];
  for (const page of root.pages) pages.push(decodePage(await read(page)));
  return assembleManifest(root, pages);
}

/** Removes the blobs of removed snapshots. If a remaining snapshot is unreadable, removes nothing. */
function collect(snapshots: readonly CachedSnapshot[], blobs: BlobFiles, log: Log): void {
  const keep = new Set<string>();
  try {
    for (const { manifest } of snapshots) {
      keep.add(manifest);
      const root = blobs.read(manifest);
      if (root === undefined) throw new SvcError("storage", `the snapshot ${manifest} is damaged`);
      for (const page of decodeRoot(root).pages) {
        if (keep.has(page)) continue;
        keep.add(page);
        const data = blobs.read(page);
        if (data === undefined)
          throw new SvcError("storage", `a page of the snapshot ${manifest} is damaged`);
        for (const blob of decodePage(data).flatMap(blobsOf)) keep.add(blob);
      }
    }
    const removed = blobs.keepOnly(keep);
    if (removed > 0) log.debug("state files removed from the cache", { blobs: removed });
  } catch (thrown) {
    log.warn("the cache of state files was not tidied", { reason: describeError(thrown) });
  }
}
