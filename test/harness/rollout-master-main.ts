import { existsSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { systemClock } from "../../internal/base/clock.ts";
import { systemJitter, systemRandom } from "../../internal/base/id.ts";
import { createLog } from "../../internal/base/log.ts";
import { loadMasterConfig } from "../../internal/config/load.ts";
import { runMaster } from "../../internal/master/run.ts";
import type { RolloutTiming } from "../../internal/rollout/timing.ts";

// A master as a process of its own, with limits a test can live with, that falls into a trap: right after it
// has written the log record the trap names it sends itself the signal of the trap, before it does anything
// else. That is how a test hits the moment between two steps, however short it is.

/** Where a master process finds its configuration and its trap; its only argument, as JSON. */
export interface RolloutMasterArgs {
  config: string;
  /** A file that holds a `Trap` while one is set. */
  trap: string;
  timing: RolloutTiming;
}

export interface Trap {
  /** The record: all of these fields as they are here. */
  record: Record<string, unknown>;
  signal: NodeJS.Signals;
}

const { config, trap, timing } = JSON.parse(process.argv[2] ?? "{}") as RolloutMasterArgs;

function fallIntoTrap(line: string): void {
  if (!existsSync(trap)) return;
  const { record, signal } = JSON.parse(readFileSync(trap, "utf8")) as Trap;
  const written = JSON.parse(line) as Record<string, unknown>;
  if (!Object.entries(record).every(([field, value]) => written[field] === value)) return;
  unlinkSync(trap);
  process.kill(process.pid, signal);
}

const invocation = loadMasterConfig(["--config", config], {});
if (invocation.kind !== "run") throw new Error("the configuration of the test's master does not run");
const stopping = new AbortController();
process.on("SIGTERM", () => stopping.abort(new Error("the test is over")));
const log = createLog({
  level: "info",
  format: "json",
  clock: systemClock,
  write(line) {
    writeSync(2, line);
    fallIntoTrap(line);
  },
});
await runMaster({
  config: invocation.values,
  env: {},
  hostname: hostname(),
  clock: systemClock,
  random: systemRandom,
  jitter: systemJitter,
  log,
  signal: stopping.signal,
  rolloutTiming: timing,
  onReady: ({ enroll, health }) => log.info("test master serves", { enroll, health }),
});
process.exit(0);
