import { type Bus, openBucket } from "../../bus/mod.ts";
import type { ShowDeps } from "../../fleet/jobs/mod.ts";
import type { FollowDeps } from "../../fleet/rollout/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { openJobs } from "../job/storage.ts";

/** What rollouts, and the jobs of their waves, are followed by; no master is needed for it. */
export interface RolloutDeps extends FollowDeps {
  jobs: ShowDeps;
}

export async function openRollouts(bus: Bus, cli: Pick<Cli, "clock">): Promise<RolloutDeps> {
  return { bus, rollouts: await openBucket(bus, "rollouts"), jobs: await openJobs(bus, cli) };
}
