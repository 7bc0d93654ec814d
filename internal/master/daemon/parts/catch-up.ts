import { abortable } from "../../../base/abortable.ts";
import { createBackoff } from "../../../base/backoff.ts";
import { sleep } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import { damageAdvice } from "../../../bus/storage/mod.ts";
import type { Check } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";

const reportEveryMs = 30_000;
/** A server that sends at all has sent everything by then. */
const patienceS = 10;
const firstRetryMs = 500;
const maxRetryMs = 5_000;

/**
 * Waits until all of a bucket was read, and logs every 30 s that it still waits: before that, a master would
 * decide on incomplete data.
 *
 * @throws the reason of the signal
 */
export async function catchUp(
  bucket: string,
  ready: Promise<unknown>,
  { clock, log, signal, awaited }: Pick<MasterDeps, "clock" | "log" | "signal" | "awaited">,
): Promise<void> {
  const since = clock.monotonic();
  awaited.set(bucket, since);
  const timer = clock.every(reportEveryMs, () => {
    const waited_s = Math.round((clock.monotonic() - since) / 1000);
    log.warn("the start waits for the contents of a bucket", { bucket, waited_s, next: damageAdvice });
  });
  await abortable(ready, signal).finally(() => {
    timer.cancel();
    awaited.delete(bucket);
  });
}

/** The check `start`, which exists as long as a start waits. */
export function awaitedChecks({
  awaited,
  clock,
}: Pick<MasterDeps, "awaited" | "clock">): Readonly<Record<string, Check>> {
  const [first] = awaited;
  if (first === undefined) return {};
  const [bucket, since] = first;
  const seconds = Math.round((clock.monotonic() - since) / 1000);
  const message = `waits for the contents of ${bucket} for ${seconds} s`;
  const next = seconds < patienceS ? "" : `: ${damageAdvice}`;
  return { start: () => ({ status: "down", message: `${message}${next}` }) };
}

/**
 * Waits until a watch has seen everything that is stored. That its first reading is complete is not enough: in a
 * cluster, a server that lags behind may have answered it, such as one that has just been started.
 *
 * @throws the reason of the signal
 */
export async function untilWhole(
  watch: { readonly ready: Promise<unknown>; caughtUp(): Promise<void> },
  { clock, log, signal }: Pick<MasterDeps, "clock" | "log" | "signal">,
): Promise<void> {
  await watch.ready;
  const backoff = createBackoff({ firstMs: firstRetryMs, maxMs: maxRetryMs });
  while (!signal.aborted) {
    try {
      return await watch.caughtUp();
    } catch (thrown) {
      log.debug("what is stored is not read completely yet", { reason: describeError(thrown) });
      await sleep(clock, backoff.next(), signal);
    }
  }
}
