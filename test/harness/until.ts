import { sleep, systemClock } from "../../internal/base/clock.ts";

const limitMs = 60_000;
const pauseMs = 25;

/**
 * Looks at what does not tell of its changes, until it is as wanted. Between two looks the processor belongs
 * to the programs that are looked at: a test that asks without a pause slows down what it waits for.
 *
 * @throws Error with what was found last, after a minute or the limit that is given
 */
export async function until<T>(
  check: () => T | Promise<T>,
  isWanted: (found: T) => boolean = Boolean,
  withinMs = limitMs,
): Promise<T> {
  const end = systemClock.monotonic() + withinMs;
  for (;;) {
    const found = await check();
    if (isWanted(found)) return found;
    if (systemClock.monotonic() > end) throw new Error(`not within ${withinMs} ms: ${JSON.stringify(found)}`);
    await sleep(systemClock, pauseMs);
  }
}
