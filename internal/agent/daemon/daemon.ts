import { systemClock } from "../../base/clock.ts";
import { systemJitter, systemRandom } from "../../base/id.ts";
import { dataDir, loadPeelConfig } from "../../program/config/mod.ts";
import { runDaemon } from "../../program/daemon/mod.ts";
import { qualifiedHostname } from "./hostname.ts";
import type { PeelOptions } from "./options.ts";
import { runPeel } from "./run.ts";

/** Runs the peel on this machine until a signal stops it. @returns the exit code */
export function runPeelDaemon(argv: readonly string[], env: PeelOptions["env"]): Promise<number> {
  return runDaemon({
    name: "svc-peel",
    load: () => loadPeelConfig(argv, env),
    run: (config, context) =>
      runPeel({
        ...context,
        env,
        clock: systemClock,
        random: systemRandom,
        jitter: systemJitter,
        config,
        hostname: qualifiedHostname(),
        dataDir: dataDir(env),
      }),
  });
}
