import { sha256Hex } from "../../base/sha256.ts";
import type { ReleasedFiles } from "../../fleet/jobs/mod.ts";
import type { Registry } from "../../fleet/operators/mod.ts";
import type { Releases } from "../../fleet/releases/mod.ts";
import type { HelloOwn } from "../../wire/hello.ts";
import type { SignedRelease } from "../../wire/release.ts";

/** What masters send to peels that run released state files alone. */
export function releasedFiles({
  releases,
  recordsOfSigner,
  disabledRecords,
}: {
  releases: Pick<Releases, "environments" | "newest" | "withSnapshot">;
  /** The records that prove who signed a release. */
  recordsOfSigner(release: Pick<SignedRelease, "operator" | "key">): readonly Uint8Array[];
  /** The records of disabled and of removed operators. */
  disabledRecords(): readonly Uint8Array[];
}): { ofJobs: ReleasedFiles; ofHello(): Pick<HelloOwn, "releases" | "operatorRecords"> } {
  return {
    ofJobs: {
      releaseOf({ environment, snapshot }) {
        const found = releases.withSnapshot(environment, snapshot);
        return found && { bytes: found.bytes, records: recordsOfSigner(found.release) };
      },
    },
    ofHello() {
      const newest = releases.environments().flatMap((name) => releases.newest(name) ?? []);
      const signers = new Map(newest.map(({ release }) => [release.key, release]));
      return {
        releases: newest.map(({ bytes }) => bytes),
        operatorRecords: [...[...signers.values()].flatMap(recordsOfSigner), ...disabledRecords()],
      };
    },
  };
}

/**
 * Calls `run` when a peel that insists would learn of other records. Until it knows the last record of an operator, it
 * takes what a thief of the key releases.
 *
 * @returns a function that unsubscribes
 */
export function onChangedRecords(
  { onChange }: Pick<Registry, "onChange">,
  ofHello: () => Pick<HelloOwn, "operatorRecords">,
  run: () => void,
): () => void {
  const digest = () => sha256Hex(Buffer.concat([...(ofHello().operatorRecords ?? [])]));
  let known = digest();
  return onChange(() => {
    const before = known;
    known = digest();
    if (known !== before) run();
  });
}
