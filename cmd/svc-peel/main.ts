import { systemClock } from "../../internal/base/clock.ts";
import { runDaemon } from "../../internal/base/daemon.ts";
import { systemJitter, systemRandom } from "../../internal/base/id.ts";
import { dataDir, loadPeelConfig } from "../../internal/config/load.ts";
import { qualifiedHostname } from "../../internal/peel/hostname.ts";
import { runPeel } from "../../internal/peel/run.ts";

const { env, argv } = process;
const machine = {
  env,
  clock: systemClock,
  random: systemRandom,
  jitter: systemJitter,
};

process.exit(
  await runDaemon({
    name: "svc-peel",
    load: () => loadPeelConfig(argv.slice(2), env),
    run: (config, context) =>
      runPeel({ ...machine, ...context, config, hostname: qualifiedHostname(), dataDir: dataDir(env) }),
  }),
);
