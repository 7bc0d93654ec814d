import { openBucket } from "../../bus/bucket.ts";
import type { Bus } from "../../bus/connect.ts";
import type { ShowDeps } from "../../jobs/show.ts";
import type { FollowDeps } from "../../rollout/follow.ts";
import type { Cli } from "../command.ts";
import { openJobs } from "../job/storage.ts";

/** What rollouts, and the jobs of their waves, are followed by; no master is needed for it. */
export interface RolloutDeps extends FollowDeps {
  jobs: ShowDeps;
}

export async function openRollouts(bus: Bus, cli: Pick<Cli, "clock">): Promise<RolloutDeps> {
  return { bus, rollouts: await openBucket(bus, "rollouts"), jobs: await openJobs(bus, cli) };
}
