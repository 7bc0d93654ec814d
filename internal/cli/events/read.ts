import { defined } from "../../base/defined.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { eventOperations, type ShownEvent } from "../../fleet/events/mod.ts";
import { request } from "../request.ts";

const pageSize = 500;

/** Which events are wanted. */
export interface Choice {
  tag?: string | undefined;
  source?: string | undefined;
  since: string;
}

/**
 * Reads events that are stored, page after page.
 *
 * @param take gets the events of each page; the next one is read when it resolves
 * @param signal ends the reading
 * @throws SvcError as the masters answer; the reason of the signal
 */
export async function readEvents(
  bus: Bus,
  { since, ...filter }: Choice,
  take: (events: readonly ShownEvent[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const left = Promise.withResolvers<never>();
  left.promise.catch(() => {});
  signal.addEventListener("abort", () => left.reject(signal.reason), { once: true });
  let position: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    const begin = position === undefined ? { since } : { after: position };
    const requested = request(bus, eventOperations.listEvents, {
      ...defined(filter),
      ...begin,
      limit: pageSize,
    });
    requested.catch(() => {});
    const page = await Promise.race([requested, left.promise]);
    await take(page.events);
    if (!page.more) return;
    position = page.position;
  }
}
