import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connect.ts";

export const builtinBusUrl = "tls://bus:4222";
const attemptsPerSource = 3;
const pauses = { firstMs: 1_000, longestMs: 30_000 };

/** Where bus URLs may come from. */
export interface BusSource {
  name: string;
  /** @returns `undefined` when this source has none at the moment */
  urls(): Promise<readonly string[] | undefined> | readonly string[] | undefined;
}

export interface FindBusOptions {
  /** In the order of precedence. */
  sources: readonly BusSource[];
  /** One attempt to connect. */
  open(urls: readonly string[]): Promise<Bus>;
  clock: Clock;
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

/**
 * Connects to the bus: some attempts at each source, then the next one, then all of them again, for as
 * long as it takes.
 *
 * @throws what a source throws: a master that is not who it must be; the signal's reason
 */
export async function findBus(options: FindBusOptions): Promise<{ bus: Bus; urls: readonly string[] }> {
  const { sources, open, clock, jitter, log, signal } = options;
  const backoff = createBackoff({ ...pauses, jitter });
  for (;;) {
    for (const source of sources) {
      const urls = await source.urls();
      if (urls === undefined) continue;
      for (let attempt = 1; attempt <= attemptsPerSource; attempt++) {
        signal.throwIfAborted();
        try {
          return { bus: await open(urls), urls };
        } catch (thrown) {
          log.warn("bus not reachable", { source: source.name, attempt, error: describeError(thrown) });
        }
        await sleep(clock, backoff.next(), signal);
      }
    }
  }
}
