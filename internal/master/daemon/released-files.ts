import type { ReleasedFiles } from "../../fleet/jobs/mod.ts";
import type { Releases } from "../../fleet/releases/mod.ts";
import type { HelloOwn } from "../../wire/hello.ts";

/** What masters send to peels that run released state files alone. */
export function releasedFiles({
  releases,
  insists,
  recordsOfSigner,
  disabledRecords,
}: {
  releases: Pick<Releases, "environments" | "newest" | "withSnapshot">;
  insists(peel: string): boolean;
  /** The records that prove who signed a release. */
  recordsOfSigner(operator: string): readonly Uint8Array[];
  /** The records of disabled operators. */
  disabledRecords(): readonly Uint8Array[];
}): { ofJobs: ReleasedFiles; ofHello(): Pick<HelloOwn, "releases" | "operatorRecords"> } {
  return {
    ofJobs: {
      insists,
      newest: (environment) => releases.newest(environment)?.release.snapshot,
      releaseOf({ environment, snapshot }) {
        const found = releases.withSnapshot(environment, snapshot);
        return found && { bytes: found.bytes, records: recordsOfSigner(found.release.operator) };
      },
    },
    ofHello() {
      const newest = releases.environments().flatMap((name) => releases.newest(name) ?? []);
      const signers = new Set(newest.map(({ release }) => release.operator));
      return {
        releases: newest.map(({ bytes }) => bytes),
        operatorRecords: [...[...signers].flatMap(recordsOfSigner), ...disabledRecords()],
      };
    },
  };
}
