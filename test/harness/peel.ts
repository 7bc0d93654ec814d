import type { PeelOptions } from "../../internal/agent/daemon/options.ts";
import { runPeel } from "../../internal/agent/daemon/run.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { loadPeelConfig } from "../../internal/program/config/mod.ts";
import { observedLog } from "./peel-connection.ts";

/** A whole peel in this process; it stops when it is disposed. */
export interface TestPeel extends AsyncDisposable {
  readonly log: ReturnType<typeof observedLog>;
  /** Resolves when it is connected; rejects when it ends before. */
  readonly ready: Promise<{ health: number }>;
  readonly ended: Promise<void>;
}

/** Starts a peel with the real program's flags. */
export function startPeel(
  dataDir: string,
  flags: readonly string[],
  options: Partial<Pick<PeelOptions, "clock">> = {},
): TestPeel {
  const invocation = loadPeelConfig(["--health-addr", "127.0.0.1:0", ...flags], { SVC_DATA_DIR: dataDir });
  if (invocation.kind !== "run") throw new Error("the peel's configuration does not run");
  const log = observedLog();
  const stopping = new AbortController();
  const ready = Promise.withResolvers<{ health: number }>();
  const ended = runPeel({
    config: invocation.values,
    dataDir,
    env: {},
    hostname: "localhost",
    jitter: () => 0,
    clock: systemClock,
    random: systemRandom,
    log,
    signal: stopping.signal,
    onReady: ({ health = 0 }) => ready.resolve({ health }),
    ...options,
  });
  ended.catch(ready.reject);
  ready.promise.catch(() => {});
  return {
    log,
    ready: ready.promise,
    ended,
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error("the test is over"));
      await ended.catch(() => {});
    },
  };
}
