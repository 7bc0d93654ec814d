import { systemClock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { systemJitter } from "../../base/id.ts";
import { dataDir, loadPeelConfig } from "../../program/config/mod.ts";
import { runDaemon } from "../../program/daemon/mod.ts";
import { usualLimits } from "./limits.ts";
import { runWatchdog, type WatchdogOptions } from "./run.ts";

/**
 * Runs a peel under a watchdog until a signal stops both. The configuration is that of the peel, and is
 * validated before anything starts.
 *
 * @param argv flags of the peel
 * @returns the exit code
 */
export function runWatchdogDaemon(argv: readonly string[], env: WatchdogOptions["env"]): Promise<number> {
  return runDaemon({
    name: "svc-peel",
    load: () => loadPeelConfig(argv, env),
    run: ({ health_addr: health }, context) => {
      if (health.port === 0) {
        throw new SvcError(
          "usage",
          "health_addr: set a port: the watchdog checks the health of the peel there",
        );
      }
      return runWatchdog({
        ...context,
        program: process.execPath,
        args: argv,
        env,
        dataDir: dataDir(env),
        health,
        limits: usualLimits,
        clock: systemClock,
        jitter: systemJitter,
      });
    },
  });
}
