import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import type { CallContext, EndedRun, StatesService } from "../../host/modules/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import { createRunLock, createStatesService, type StatesServiceDeps } from "../../tree/run/mod.ts";
import type { StateFiles } from "../state-files/mod.ts";

/** The states of a peel: runs the published state files, one run at a time. */
export function createPeelStates(options: {
  dataDir: string;
  /** Encoded peel id. */
  peelId: string;
  stateFiles: Pick<StateFiles, "open" | "waitForFirstSync">;
  /** The environment of functions that states call, in addition to these states. */
  context(signal: AbortSignal): Omit<CallContext, "states">;
  clock: Clock;
  jitter: () => number;
  random: Random;
  /** Called with each run that ended, before the next one can begin. */
  onEnd(run: EndedRun): void;
  config: Pick<PeelConfig, "salt_compat" | "templates.host_functions">;
}): StatesService {
  const { stateFiles, clock } = options;
  return createStatesService({
    ...options,
    ...templateOptions(options.config),
    lock: createRunLock({ file: statesLockFile(options.dataDir), now: clock.now }),
    sources: {
      async open(environment, wanted, signal) {
        const isSynced = await stateFiles.waitForFirstSync(signal);
        signal.throwIfAborted();
        try {
          return await stateFiles.open(environment, wanted);
        } catch (thrown) {
          if (isSynced || toSvcError(thrown).kind !== "unavailable") throw thrown;
          throw new SvcError(
            "unavailable",
            `cannot run states: no state files were received from the masters yet, and none are cached: ${describeError(thrown)}`,
            { cause: thrown },
          );
        }
      },
    },
  });
}

/** How templates are read, and what they may do, as the configuration says. */
export function templateOptions(
  config: Pick<PeelConfig, "salt_compat" | "templates.host_functions">,
): Pick<StatesServiceDeps, "compat" | "hostAccess"> {
  return { compat: config.salt_compat, hostAccess: config["templates.host_functions"] };
}

/** The lock file that a peel and a concurrent `svc-peel call` share. */
export function statesLockFile(dataDir: string): string {
  return join(dataDir, "states.lock");
}
