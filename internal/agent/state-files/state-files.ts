import { isUtf8 } from "node:buffer";
import { join } from "node:path";
import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep, type Timer } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { isEnvironmentName } from "../../base/names/names.ts";
import { openBlobFiles, type SnapshotSource, type WantedSnapshot } from "../../tree/files/mod.ts";
import type { Connection } from "../link/mod.ts";
import { createStatesClient, type StatesClient } from "./fetch-states.ts";
import { base, createVersions } from "./find-version.ts";
import { openPublished } from "./open-published.ts";
import { openSnapshotList } from "./state-snapshots.ts";
import { createStatements } from "./statements.ts";
import { type Cache, syncSnapshot } from "./sync.ts";

/** Specification, "Settings startup wait". */
const firstSyncMs = 60_000;
const pauses = { firstMs: 10_000, maxMs: 5 * 60_000 };

/** The state files of a peel: published by the masters, cached on this host. */
export interface StateFiles {
  /**
   * The files of an environment, by default `base`: the version in force at the masters, or the last fetched
   * version when they are unreachable. With a commit, the snapshot of that commit; with a snapshot, exactly these
   * files, whose digest this peel computes.
   *
   * @throws SvcError `not_found` when the environment, the commit or the snapshot does not exist; `unavailable` when
   *   nothing was ever fetched and the masters are unreachable
   */
  open(environment?: string, wanted?: WantedSnapshot): Promise<SnapshotSource>;
  /**
   * Resolves when files of `base` exist, or 60 s after the start or the first connection, whichever is later.
   *
   * @returns whether they exist
   */
  waitForFirstSync(signal: AbortSignal): Promise<boolean>;
  /** Handles a signed statement about the version in force. Logs a statement that is not acceptable. */
  reported(statement: Uint8Array | undefined): void;
  /** The texts of all files that this host holds, of every environment and commit. */
  texts(): Iterable<string>;
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
  const list = openSnapshotList(dir, log);
  const firstSync = Promise.withResolvers<void>();
  /** The start, and then the first connection: all who wait for the first sync wait for the same time. */
  let waitSince = clock.monotonic();
  let client: StatesClient | undefined;
  let wanted: string | undefined;
  let retry: Timer | undefined;
  const cache: Cache = {
    ...{ blobs: openBlobFiles(join(dir, "blobs")), list, whole: new Set(), clock, log },
    masters() {
      if (client !== undefined) return client;
      throw new SvcError("unavailable", "cannot fetch state files from the masters: the bus is unreachable");
    },
  };
  const statements = createStatements({ list, commandKeys: options.commandKeys, log });
  const versions = createVersions(cache, statements);
  const backoff = createBackoff({ ...pauses, jitter });
  const inTurn = createTurns();
  if (list.current(base) !== undefined) firstSync.resolve();

  const follow = async () => {
    const manifest = wanted;
    if (manifest === undefined || client === undefined) return;
    if (list.current(base)?.manifest === manifest) return;
    try {
      await syncSnapshot(cache, base, { manifest, commits: [] }, true);
      firstSync.resolve();
      backoff.reset();
    } catch (thrown) {
      const inMs = backoff.next();
      const reason = describeError(thrown);
      log.warn("state files not fetched; the previous version stays in force", { reason, retry_in_ms: inMs });
      retry?.cancel();
      retry = clock.after(inMs, () => void inTurn(follow));
    }
  };

  return {
    async open(environment = base, { commit: named, snapshot } = {}) {
      const commit = named?.toLowerCase();
      assertNamed(environment, commit);
      return inTurn(async () => {
        const source = await openPublished(cache, versions, environment, { commit, snapshot });
        if (list.current(base) !== undefined) firstSync.resolve();
        return source;
      });
    },

    async waitForFirstSync(signal) {
      const leftMs = Math.max(0, waitSince + firstSyncMs - clock.monotonic());
      await orLater(firstSync.promise, leftMs, clock, signal);
      return list.current(base) !== undefined;
    },

    reported(bytes) {
      try {
        wanted = statements.accept(bytes).base ?? wanted;
      } catch {
        return;
      }
      if (list.current(base)?.manifest !== wanted) void inTurn(follow);
    },

    texts: () => textsOf(cache),

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

function* textsOf({ blobs }: Pick<Cache, "blobs">): Generator<string> {
  for (const data of blobs.each()) if (isUtf8(data)) yield Buffer.from(data).toString();
}

/** Waits for something, but no longer than this. */
async function orLater(done: Promise<void>, ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const late = new AbortController();
  await Promise.race([done, sleep(clock, ms, AbortSignal.any([signal, late.signal])).catch(() => {})]);
  late.abort();
}

/** Runs one fetch at a time: a later one finds the files of an earlier one in the cache. */
function createTurns(): <T>(run: () => Promise<T>) => Promise<T> {
  let queue: Promise<unknown> = Promise.resolve();
  return (run) => {
    const done = queue.then(run);
    queue = done.catch(() => {});
    return done;
  };
}

/** @throws SvcError `bad_request` */
function assertNamed(environment: string, commit: string | undefined): void {
  if (!isEnvironmentName(environment)) {
    throw new SvcError("bad_request", "environment: not a valid environment name");
  }
  if (commit !== undefined && !/^[0-9a-f]{7,64}$/.test(commit)) {
    throw new SvcError("bad_request", "commit: expected at least 7 hexadecimal digits");
  }
}
