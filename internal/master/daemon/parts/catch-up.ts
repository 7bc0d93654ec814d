import { abortable } from "../../../base/abortable.ts";
import type { MasterDeps } from "../options.ts";

const tellEveryMs = 30_000;

/**
 * Waits until everything of a bucket was read, and says every 30 s that it still waits: a master that has
 * not read it would decide on less than there is.
 *
 * @throws the reason of the signal
 */
export async function catchUp(
  bucket: string,
  ready: Promise<unknown>,
  { clock, log, signal }: Pick<MasterDeps, "clock" | "log" | "signal">,
): Promise<void> {
  const since = clock.monotonic();
  const timer = clock.every(tellEveryMs, () => {
    const waited_s = Math.round((clock.monotonic() - since) / 1000);
    log.warn("the start waits for the contents of a bucket", { bucket, waited_s });
  });
  await abortable(ready, signal).finally(() => timer.cancel());
}
