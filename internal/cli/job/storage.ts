import { openBucket } from "../../bus/bucket.ts";
import type { Bus } from "../../bus/connect.ts";
import { readAlive } from "../../fleet/jobs/alive.ts";
import type { ShowDeps } from "../../fleet/jobs/show.ts";
import type { Cli } from "../../program/command-line/command.ts";

/** Opens what jobs are read from; no master is needed for it. */
export async function openJobs(bus: Bus, cli: Pick<Cli, "clock">): Promise<ShowDeps> {
  return {
    bus,
    jobs: await openBucket(bus, "jobs"),
    alive: readAlive(await openBucket(bus, "peel-heartbeat")),
    clock: cli.clock,
  };
}
