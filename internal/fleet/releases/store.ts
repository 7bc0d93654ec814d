import { SvcError } from "../../base/errors.ts";
import { environmentKey } from "../../base/names/names.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { openRelease, type SignedRelease } from "../../wire/release.ts";
import type { ReleaseJudge } from "./judge.ts";
import { type Releases, seenKey } from "./view.ts";

export interface StoreDeps {
  /** The bucket `releases`, whose decisions are logged. */
  bucket: Pick<Bucket, "get" | "create" | "update">;
  releases: Pick<Releases, "caughtUp" | "nextVersion" | "note">;
  judge: ReleaseJudge;
}

/**
 * Stores the next release of an environment. Of two that are made at once, one is stored.
 *
 * @throws SvcError `unauthorized` for bytes of something else; `forbidden` when no operator signed it who may release;
 *   `conflict` when its version is not the next one; `unavailable`, `storage`
 */
export async function storeRelease(deps: StoreDeps, bytes: Uint8Array): Promise<SignedRelease> {
  const { bucket, releases, judge } = deps;
  const release = openRelease(bytes);
  await releases.caughtUp();
  const reason = judge.refusalOf(bytes, release);
  if (reason !== undefined) throw new SvcError("forbidden", `the release does not count: ${reason}`);
  const { environment, version } = release;
  const next = releases.nextVersion(environment);
  if (version !== next) {
    throw new SvcError(
      "conflict",
      `the next release of ${environment} has version ${next}, and this one has ${version}: run svc states release again`,
    );
  }
  if (!(await writeNext(bucket, environmentKey(environment), bytes))) {
    throw new SvcError("conflict", `${environment} was released meanwhile: run svc states release again`);
  }
  releases.note(bytes);
  return release;
}

/** Replaces what is there as it was read. */
async function writeNext(bucket: StoreDeps["bucket"], key: string, bytes: Uint8Array): Promise<boolean> {
  const there = await bucket.get(key);
  const written =
    there === undefined ? await bucket.create(key, bytes) : await bucket.update(key, bytes, there.revision);
  return written !== undefined;
}

/**
 * Takes note of releases that a peel took. A fleet whose bus and logs lost one would give its version again, and peels
 * would refuse that; so the next version exceeds what they have.
 */
export async function noteTaken(deps: StoreDeps, taken: readonly Uint8Array[]): Promise<void> {
  for (const bytes of taken) {
    const release = deps.judge.read(bytes);
    if (release === undefined || release.version < deps.releases.nextVersion(release.environment)) continue;
    await writeNext(deps.bucket, seenKey(release.environment), bytes);
  }
}
