import { sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/mod.ts";
import type { ShownEvent } from "../../fleet/events/mod.ts";
import { eventOperations } from "../../fleet/events/mod.ts";
import { request } from "../request.ts";

/** How long a master waits for an event before it answers that there is none. */
const waitMs = 10_000;
const timeoutMs = waitMs + 5_000;
const retryMs = 1_000;
const pageSize = 500;

/** Which events are wanted. */
export interface Choice {
  tag?: string | undefined;
  source?: string | undefined;
  since: string;
  /** Whether to continue with what happens from now on. */
  follow: boolean;
}

/**
 * Reads events, page after page.
 *
 * @param take gets the events of each page; the next one is read when it resolves
 * @param options.signal ends the reading
 * @param options.say tells the reader that no master answers, and that one answers again
 * @throws SvcError as the masters answer; while it follows, not `unavailable`; the reason of the signal
 */
export async function readEvents(
  bus: Bus,
  { since, follow, ...filter }: Choice,
  take: (events: readonly ShownEvent[]) => Promise<void>,
  { signal, say }: { signal: AbortSignal; say(text: string): void },
): Promise<void> {
  const left = Promise.withResolvers<never>();
  left.promise.catch(() => {});
  signal.addEventListener("abort", () => left.reject(signal.reason), { once: true });
  let position: string | undefined;
  let atEnd = false;
  let isSilent = false;
  for (;;) {
    signal.throwIfAborted();
    const begin = position === undefined ? { since } : { after: position };
    const input = { ...defined(filter), ...begin, limit: pageSize, wait_ms: atEnd ? waitMs : 0 };
    const requested = request(bus, eventOperations.listEvents, input, { timeoutMs });
    requested.catch(() => {});
    try {
      const page = await Promise.race([requested, left.promise]);
      if (isSilent) say("the masters answer again");
      isSilent = false;
      await Promise.race([take(page.events), left.promise]);
      position = page.position;
      if (page.more) continue;
      if (!follow) return;
      atEnd = true;
    } catch (thrown) {
      signal.throwIfAborted();
      const comesBack = thrown instanceof SvcError && thrown.kind === "unavailable";
      if (!follow || position === undefined || !comesBack) throw thrown;
      if (!isSilent) say(`${describeError(thrown)}; it continues from there when a master answers`);
      isSilent = true;
      await sleep(bus.clock, retryMs, signal);
    }
  }
}
