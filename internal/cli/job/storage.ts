import { type Bus, openBucket } from "../../bus/mod.ts";
import { readAlive, type ShowDeps } from "../../fleet/jobs/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";

/** Opens what jobs are read from; no master is needed for it. */
export async function openJobs(bus: Bus, cli: Pick<Cli, "clock">): Promise<ShowDeps> {
  return {
    bus,
    jobs: await openBucket(bus, "jobs"),
    alive: readAlive(await openBucket(bus, "peel-heartbeat")),
    clock: cli.clock,
  };
}
