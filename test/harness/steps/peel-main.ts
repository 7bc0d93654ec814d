import { runPeel } from "../../../internal/agent/daemon/run.ts";
import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { createLog } from "../../../internal/base/log.ts";
import { loadPeelConfig } from "../../../internal/program/config/mod.ts";

// A whole peel that does what is due at once. It runs until it is killed.

const { argv, env } = process;
const invocation = loadPeelConfig(argv.slice(2), env);
if (invocation.kind !== "run") throw new Error("the peel's configuration does not run");
await runPeel({
  config: invocation.values,
  dataDir: env.SVC_DATA_DIR ?? "",
  env: {},
  hostname: "localhost",
  jitter: () => 0,
  clock: systemClock,
  random: systemRandom,
  log: createLog({
    level: "info",
    format: "json",
    clock: systemClock,
    write: (line) => process.stdout.write(line),
  }),
  signal: new AbortController().signal,
});
