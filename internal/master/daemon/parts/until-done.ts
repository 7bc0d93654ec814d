import { sleep } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { MasterDeps } from "../options.ts";

const retryMs = 2_000;

/** Repeats what a cluster that elects a leader may refuse for a while. @throws the reason of the signal */
export async function untilDone<T>(
  run: () => Promise<T>,
  deps: Pick<MasterDeps, "clock" | "log" | "signal">,
): Promise<T> {
  const { clock, log, signal } = deps;
  for (;;) {
    try {
      return await run();
    } catch (cause) {
      log.warn("storage is not ready", { error: describeError(cause), retry_in_ms: retryMs });
    }
    await sleep(clock, retryMs, signal);
  }
}
