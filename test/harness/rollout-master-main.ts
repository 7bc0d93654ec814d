import { existsSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { type Clock, systemClock } from "../../internal/base/clock.ts";
import { systemJitter, systemRandom } from "../../internal/base/id.ts";
import { createLog } from "../../internal/base/log.ts";
import type { RolloutTiming } from "../../internal/fleet/rollout/timing.ts";
import { runMaster } from "../../internal/master/daemon/run.ts";
import { loadMasterConfig } from "../../internal/program/config/mod.ts";

// A master in a separate process, with shorter limits, and with a trap: right after it has written the log
// record of the trap, or at a given number of clock reads after that, it sends itself the signal of the trap
// before it does anything else. So a test can hit the moment between two steps, however short it is.
//
// The silence after which a driver is given up is longer than any test. It passes when the test says so, by
// SIGUSR2: a busy machine makes no driver silent, and nobody waits.

/** Where a master process finds its configuration and its trap; its only argument, as JSON. */
export interface RolloutMasterArgs {
  config: string;
  /** A file that holds a `Trap` while one is set. */
  trap: string;
}

export interface Trap {
  /** The record: all of these fields as they are here. */
  record: Record<string, unknown>;
  /** Number of clock reads after the record; absent means at once. The clock is read before the signal. */
  check?: number;
  signal: NodeJS.Signals;
}

const dayMs = 24 * 60 * 60_000;
const timing: RolloutTiming = { heartbeatMs: 200, silenceMs: 10 * dayMs, spreadMs: 50, retryMs: 100 };

const { config, trap } = JSON.parse(process.argv[2] ?? "{}") as RolloutMasterArgs;

let armed: { check: number; signal: NodeJS.Signals } | undefined;

function fallIntoTrap(line: string): void {
  if (!existsSync(trap)) return;
  const { record, signal, check = 0 } = JSON.parse(readFileSync(trap, "utf8")) as Trap;
  const written = JSON.parse(line) as Record<string, unknown>;
  if (!Object.entries(record).every(([field, value]) => written[field] === value)) return;
  unlinkSync(trap);
  if (check === 0) process.kill(process.pid, signal);
  else armed = { check, signal };
}

/** The timers that end with the silence of a driver: nothing else in a master waits for days. */
const silences = new Set<() => void>();
process.on("SIGUSR2", () => {
  for (const end of [...silences]) end();
});

const clock: Clock = {
  ...systemClock,
  after(ms, run) {
    if (ms < timing.silenceMs / 2) return systemClock.after(ms, run);
    const end = () => {
      silences.delete(end);
      run();
    };
    silences.add(end);
    return { cancel: () => silences.delete(end) };
  },
  now() {
    const now = systemClock.now();
    if (armed !== undefined && --armed.check === 0) {
      const { signal } = armed;
      armed = undefined;
      process.kill(process.pid, signal);
    }
    return now;
  },
};

const invocation = loadMasterConfig(["--config", config], process.env);
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
  clock,
  random: systemRandom,
  jitter: systemJitter,
  log,
  signal: stopping.signal,
  rolloutTiming: timing,
  onReady: ({ enroll, health }) => log.info("test master serves", { enroll, health }),
});
process.exit(0);
