import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Bus, isNameUnknown, nameAdvice } from "../../bus/connection/mod.ts";
import { MetObstacle } from "./obstacle.ts";

export const builtinBusUrl = "tls://bus:4222";
/** What to do where the host of the built-in URL does not exist. */
export const builtinBusAdvice =
  "no master names its bus: set bus_advertise_urls in the configuration of each master and restart svc-master, or set bus_url in the configuration of this peel";
const attemptsPerSource = 3;
const pauses = { firstMs: 1_000, maxMs: 30_000 };

/** A source of bus URLs. */
export interface BusSource {
  name: string;
  /** What to do when none of its URLs works. */
  next?: string;
  /** @returns `undefined` when this source currently has none */
  urls(): Promise<readonly string[] | undefined> | readonly string[] | undefined;
}

export interface FindBusOptions {
  /** In order of precedence. */
  sources: readonly BusSource[];
  /** Tries to connect once. */
  open(urls: readonly string[]): Promise<Bus>;
  clock: Clock;
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

/**
 * Connects to the bus: tries each source a few times, in order, and repeats until it succeeds.
 *
 * @throws errors of a source: a failed verification of a master; the signal's reason
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
          const level = thrown instanceof MetObstacle ? "debug" : "warn";
          const { name, next = isNameUnknown(thrown) ? nameAdvice : undefined } = source;
          const error = describeError(thrown);
          log[level]("bus not reachable", { source: name, attempt, error, ...defined({ next }) });
        }
        await sleep(clock, backoff.next(), signal);
      }
    }
  }
}
