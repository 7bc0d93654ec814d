import { abortable } from "../../../base/abortable.ts";
import type { MasterDeps } from "../options.ts";

const tellEveryMs = 30_000;

/**
 * Waits until all of a bucket was read, and logs every 30 s that it still waits: before that, a master would
 * decide on incomplete data.
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
