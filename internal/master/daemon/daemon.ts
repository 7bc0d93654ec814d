import { hostname } from "node:os";
import { systemClock } from "../../base/clock.ts";
import { systemJitter, systemRandom } from "../../base/id.ts";
import { compileAsUsual } from "../../base/service/jit-policy.ts";
import { loadMasterConfig } from "../../program/config/mod.ts";
import { runDaemon } from "../../program/daemon/mod.ts";
import type { MasterOptions } from "./options.ts";
import { runMaster } from "./run.ts";

/** Runs a master on this machine until a signal ends it. @returns the exit code */
export function runMasterDaemon(argv: readonly string[], env: MasterOptions["env"]): Promise<number> {
  return runDaemon({
    name: "svc-master",
    load: () => loadMasterConfig(argv, env),
    run: (config, context) =>
      runMaster({
        ...context,
        env,
        hostname: hostname(),
        clock: systemClock,
        random: systemRandom,
        jitter: systemJitter,
        config,
        onReady: compileAsUsual,
      }),
  });
}
