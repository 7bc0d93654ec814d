import { sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import { createPublication, type PublicationOptions } from "./publication.ts";

const retryMs = 5_000;

export interface PublishOptions extends PublicationOptions {
  /** Calls `run` after each reconnect of the bus; returns a function that stops it. */
  onReconnect(run: () => void): () => void;
  /** Calls `run` when another writer wrote the head; returns a function that stops it. */
  onForeignHead(run: () => void): () => void;
  /** Calls `run` when other settings are in force; returns a function that stops it. */
  onSettings(run: () => void): () => void;
  /** Calls `run` when an operator released files; returns a function that stops it. */
  onRelease(run: () => void): () => void;
  /** Calls `run` when another key signs; returns a function that stops it. */
  onKeyChange(run: () => void): () => void;
}

/** Publishes state files for as long as the tenure lasts. */
export async function publishStates(options: PublishOptions): Promise<void> {
  const { statesDir, clock, log } = options;
  const { signal } = options.tenure;
  let dirty = Promise.withResolvers<void>();
  const notice = () => dirty.resolve();
  const watching = watchDirectory(statesDir, { onChange: notice, clock, log });
  const forget = options.onReconnect(notice);
  const unfollow = options.onForeignHead(notice);
  const forgetSettings = options.onSettings(notice);
  const forgetKeys = options.onKeyChange(() => {
    publication.sign();
    notice();
  });
  const forgetReleases = options.onRelease(notice);
  const publication = createPublication(options, notice);

  try {
    while (!signal.aborted) {
      dirty = Promise.withResolvers();
      let waitMs = retryMs;
      try {
        waitMs = await publication.publish();
      } catch (thrown) {
        if (signal.aborted) return;
        log.warn("state files not published", { reason: describeError(thrown), retry_in_ms: retryMs });
        publication.forgetHead();
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
    forgetSettings();
    forgetKeys();
    forgetReleases();
    await publication.stop();
  }
}
