import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Approvals } from "../../fleet/approvals/mod.ts";
import type { JobController } from "../../fleet/jobs/mod.ts";
import type { Releases } from "../../fleet/releases/mod.ts";
import type { StartDeps } from "../../fleet/rollout/mod.ts";

interface NamedDeps {
  /** Requests that wait; `undefined` until they are read. */
  approvals(): Pick<Approvals, "contents"> | undefined;
  rollouts: Pick<StartDeps, "running">;
  jobs: Pick<JobController, "contents">;
  releases: Pick<Releases, "caughtUp" | "snapshots">;
  log: Log;
}

/**
 * The digests of the state files of everything that has not ended, on all masters, and of what is released. What a request starts names the files
 * before the request ends, so requests are read first and jobs last.
 *
 * @returns `undefined` when it cannot be known: then nothing may be removed
 */
export async function namedSnapshots(deps: NamedDeps): Promise<ReadonlySet<string> | undefined> {
  const approvals = deps.approvals();
  if (approvals === undefined) return undefined;
  try {
    const waiting = await approvals.contents();
    const rollouts = (await deps.rollouts.running()).flatMap((one) =>
      [one.content ?? [], one.released ?? []].flat(),
    );
    const jobs = await deps.jobs.contents();
    await deps.releases.caughtUp();
    const named = [...waiting, ...rollouts, ...jobs].map(({ snapshot }) => snapshot);
    return new Set([...named, ...deps.releases.snapshots()]);
  } catch (thrown) {
    deps.log.warn("it is not known which state files are needed: all stay", {
      reason: describeError(thrown),
    });
    return undefined;
  }
}
