import { type Clock, sleep } from "../../base/clock.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import type { SnapshotSource, WantedSnapshot } from "../../tree/files/mod.ts";
import { shortSnapshot } from "../../wire/content-words.ts";
import { type FoundSnapshot, isNamed, type Versions } from "./find-version.ts";
import type { CachedSnapshot } from "./state-snapshots.ts";
import { type Cache, openSnapshot, syncSnapshot } from "./sync.ts";

/** Masters read of a publication at once, unless its announcement was lost. */
const unknownPauseMs = 1_000;
const unknownAttempts = 3;

/**
 * Opens the files that are meant, and fetches what this host does not have of them.
 *
 * @throws SvcError as `StateFiles.open`
 */
export async function openPublished(
  cache: Cache,
  versions: Versions,
  environment: string,
  wanted: WantedSnapshot,
): Promise<SnapshotSource> {
  const { list, clock } = cache;
  const found = await findPublished(versions, environment, wanted, clock);
  const { manifest } = await syncIfChanged(cache, environment, found, !isNamed(wanted));
  const source = asWanted(await openSnapshot(cache, manifest), wanted.snapshot);
  // A job can arrive before the news of the files that it runs; without a bus these are the files to use.
  if (found.isInForce && list.current(environment)?.manifest !== manifest) {
    list.add(environment, { ...found, snapshot: source.snapshot }, true);
  }
  return source;
}

/** @throws SvcError `forbidden` when the digest of these files is another one */
function asWanted(source: SnapshotSource, snapshot: string | undefined): SnapshotSource {
  if (snapshot === undefined || source.snapshot === snapshot) return source;
  throw new SvcError("forbidden", `the masters have other state files as ${shortSnapshot(snapshot)}`);
}

/**
 * Finds a snapshot. A master may accept a job for files that were published a moment ago, and another one that has not
 * read of them yet may get the question of the peel.
 */
async function findPublished(
  versions: Versions,
  environment: string,
  wanted: WantedSnapshot,
  clock: Clock,
): Promise<FoundSnapshot> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await versions.find(environment, wanted);
    } catch (thrown) {
      const isUnknown = wanted.snapshot !== undefined && toSvcError(thrown).kind === "not_found";
      if (!isUnknown || attempt >= unknownAttempts) throw thrown;
    }
    await sleep(clock, unknownPauseMs);
  }
}

/** Fetches a snapshot that this host does not have. @returns the one to use: an earlier one when that fails */
async function syncIfChanged(
  cache: Cache,
  environment: string,
  found: CachedSnapshot,
  isInForce: boolean,
): Promise<CachedSnapshot> {
  const { list, log } = cache;
  const before = list.current(environment);
  const isKnown = list.all().some(({ manifest }) => manifest === found.manifest);
  if (isKnown && (!isInForce || before?.manifest === found.manifest)) return found;
  try {
    await syncSnapshot(cache, environment, found, isInForce);
    return found;
  } catch (thrown) {
    if (before === undefined || !isInForce) throw thrown;
    const reason = describeError(thrown);
    log.warn("state files not fetched; cached ones are used", { environment, reason });
    return before;
  }
}
