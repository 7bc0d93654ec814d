import { openBucket } from "../../bus/bucket.ts";
import type { Bus } from "../../bus/connect.ts";
import type { ShowDeps } from "../../fleet/jobs/show.ts";
import type { FollowDeps } from "../../fleet/rollout/follow.ts";
import type { Cli } from "../../program/command-line/command.ts";
import { openJobs } from "../job/storage.ts";

/** What rollouts, and the jobs of their waves, are followed by; no master is needed for it. */
export interface RolloutDeps extends FollowDeps {
  jobs: ShowDeps;
}

export async function openRollouts(bus: Bus, cli: Pick<Cli, "clock">): Promise<RolloutDeps> {
  return { bus, rollouts: await openBucket(bus, "rollouts"), jobs: await openJobs(bus, cli) };
}
