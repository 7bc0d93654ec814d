import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import type { Tenure } from "../../bus/lease/mod.ts";
import type { BlobStore } from "../../bus/storage/mod.ts";
import {
  type CatalogView,
  type Contents,
  createComposer,
  createDirectoryScan,
  type HeadSeal,
  type Layer,
  type Publisher,
  takeOverHead,
} from "../../tree/files/mod.ts";
import type { GitSync } from "../../tree/git/mod.ts";

const retryMs = 5_000;
const collectMs = 10 * 60_000;
const shownWarnings = 20;

export interface PublishOptions {
  store: BlobStore;
  seal: HeadSeal;
  /** `states_dir` */
  statesDir: string;
  tenure: Tenure;
  /** Starts reading the Git repositories; absent when there are none. */
  startGit?(onChange: () => void): GitSync;
  /** Calls `run` after each reconnect of the bus; returns a function that stops it. */
  onReconnect(run: () => void): () => void;
  /** Calls `run` when another writer wrote the head; returns a function that stops it. */
  onForeignHead(run: () => void): () => void;
  /** Calls `run` when another key signs; returns a function that stops it. */
  onKeyChange(run: () => void): () => void;
  recall?: CatalogView["recall"] | undefined;
  /** Called with the environments that have a new snapshot in force. */
  onPublished(environments: readonly string[]): void;
  clock: Clock;
  log: Log;
}

/** Publishes state files for as long as the tenure lasts. */
export async function publishStates(options: PublishOptions): Promise<void> {
  const { store, seal, statesDir, tenure, clock, log, recall } = options;
  const { signal } = tenure;
  let dirty = Promise.withResolvers<void>();
  const notice = () => dirty.resolve();
  const directory = readDirectory(statesDir, clock, log);
  const watching = watchDirectory(statesDir, { onChange: notice, clock, log });
  const forget = options.onReconnect(notice);
  const unfollow = options.onForeignHead(notice);
  const forgetKeys = options.onKeyChange(() => {
    // It takes over from itself, which signs the head again.
    resigns = true;
    notice();
  });
  const git = options.startGit?.(notice);
  const compose = createComposer();
  let reported = "";
  let resigns = false;
  let publisher: Publisher | undefined;
  let collectAt = clock.monotonic() + collectMs;

  const publishOnce = async () => {
    if (publisher !== undefined && (resigns || !(await publisher.holds()))) publisher = undefined;
    resigns = false;
    publisher ??= await takeOverHead({ store, seal, clock, log, recall }, tenure.token);
    const repositories = (git?.states() ?? []).map(
      ({ remote, environments, confirmed }): Layer => ({ remote, environments, confirmed }),
    );
    const layers = [await directory(), ...repositories];
    const { environments, unchanged, omitted } = compose(layers, publisher);
    const complaint = `${unchanged} / ${omitted}`;
    if (complaint !== reported && unchanged.length + omitted.length > 0) {
      log.warn("not every environment can be published", { left_as_they_are: unchanged, too_many: omitted });
    }
    reported = complaint;
    signal.throwIfAborted();
    const { changed } = await publisher.publish(environments, unchanged);
    if (changed.length > 0) options.onPublished(changed);
    if (clock.monotonic() < collectAt) return;
    collectAt = clock.monotonic() + collectMs;
    await publisher.collect();
  };

  try {
    while (!signal.aborted) {
      dirty = Promise.withResolvers();
      let waitMs = collectMs;
      try {
        await publishOnce();
      } catch (thrown) {
        if (signal.aborted) return;
        log.warn("state files not published", { reason: describeError(thrown), retry_in_ms: retryMs });
        // The current head is unknown: the next attempt reads it.
        publisher = undefined;
        waitMs = retryMs;
      }
      const woken = new AbortController();
      const waiting = sleep(clock, waitMs, AbortSignal.any([signal, woken.signal])).catch(() => {});
      await Promise.race([dirty.promise, waiting]);
      woken.abort();
    }
  } finally {
    watching.stop();
    forget();
    unfollow();
    forgetKeys();
    await git?.stop();
  }
}

/** Reads `states_dir` repeatedly; when it cannot be read, the previous content stays. */
function readDirectory(statesDir: string, clock: Clock, log: Log): () => Promise<Layer> {
  const scan = createDirectoryScan(statesDir, clock);
  let files: Contents | undefined;
  let warned = "";
  const warn = (lines: readonly string[]) => {
    const text = lines.join("\n");
    if (text === warned) return;
    warned = text;
    for (const line of lines.slice(0, shownWarnings)) {
      log.warn("states_dir", { directory: statesDir, warning: line });
    }
  };
  return async () => {
    try {
      const found = await scan.scan();
      files = found.files;
      warn(found.warnings);
    } catch (thrown) {
      warn([describeError(thrown)]);
    }
    const environments = new Map(files === undefined ? [] : [["base", { files }] as const]);
    return { environments, confirmed: files !== undefined };
  };
}
