import { readFileSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { attempt } from "../../base/errors.ts";
import { subscribe } from "../../base/subscribe.ts";

/** A time in which a peel does not ask a bus that refuses it. Other credentials on the disk end it. */
export interface Rest {
  readonly isOn: boolean;
  /** Whether masters began it. */
  readonly isHalted: boolean;
  /** @param ms may be without end */
  begin(ms: number): void;
  /** The same, by masters. */
  halt(ms: number): void;
  end(): void;
  /** Ends one that masters began. */
  endHalt(): void;
  /** Calls `run` when one begins. Returns a function that stops this. */
  onBegin(run: () => void): () => void;
}

/** @param path of the credentials */
export function createRest(path: string, clock: Pick<Clock, "monotonic">): Rest {
  const listeners = new Set<() => void>();
  const onDisk = () => attempt(() => readFileSync(path, "utf8"));
  let current: { until: number; credentials: string | undefined } | undefined;
  let isHalted = false;
  const isOn = () =>
    current !== undefined && clock.monotonic() < current.until && current.credentials === onDisk();
  const begin = (ms: number) => {
    const until = clock.monotonic() + ms;
    if (current !== undefined && isOn() && current.until >= until) return;
    current = { until, credentials: onDisk() };
    for (const run of listeners) run();
  };
  const end = () => {
    isHalted = false;
    current = undefined;
  };
  return {
    get isOn() {
      return isOn();
    },
    get isHalted() {
      return isHalted;
    },
    begin,
    halt(ms) {
      isHalted = true;
      begin(ms);
    },
    end,
    endHalt() {
      if (isHalted) end();
    },
    onBegin: (run) => subscribe(listeners, run),
  };
}
