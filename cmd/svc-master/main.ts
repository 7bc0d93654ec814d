import { hostname } from "node:os";
import { systemClock } from "../../internal/base/clock.ts";
import { runDaemon } from "../../internal/base/daemon.ts";
import { systemJitter, systemRandom } from "../../internal/base/id.ts";
import { loadMasterConfig } from "../../internal/config/load.ts";
import { runMaster } from "../../internal/master/run.ts";

const machine = {
  env: process.env,
  hostname: hostname(),
  clock: systemClock,
  random: systemRandom,
  jitter: systemJitter,
};

if (process.argv[2] === "check") {
  const { runMasterCommand } = await import("../../internal/master/command.ts");
  process.exit(await runMasterCommand(process, process.argv.slice(2)));
}

process.exit(
  await runDaemon({
    name: "svc-master",
    load: () => loadMasterConfig(process.argv.slice(2), process.env),
    run: (config, context) => runMaster({ ...machine, ...context, config }),
  }),
);
