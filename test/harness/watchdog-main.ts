import { runWatchdog, type WatchdogOptions } from "../../internal/agent/watchdog/run.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { createLog } from "../../internal/base/log.ts";

// A watchdog in a separate process, with shorter limits: the first argument is JSON.
const given = JSON.parse(process.argv[2] ?? "{}") as Pick<
  WatchdogOptions,
  "program" | "args" | "dataDir" | "health" | "limits"
>;
const stopping = new AbortController();
process.on("SIGTERM", () => stopping.abort());
const log = createLog({
  level: "debug",
  format: "json",
  clock: systemClock,
  write: (line) => process.stderr.write(line),
});
await runWatchdog({
  ...given,
  env: process.env,
  clock: systemClock,
  jitter: () => 0,
  log,
  signal: stopping.signal,
});
