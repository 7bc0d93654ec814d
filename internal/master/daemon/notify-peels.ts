import type { Clock } from "../../base/clock.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { hintSubject } from "../../bus/subjects/subjects.ts";

/** A peel sends its request within a second of its hint: this is how many hellos a second masters get. */
const atOnce = 500;
const everyMs = 1_000;

/**
 * Lets all connected peels say hello, a part of them each second. Those that are not connected say it when they are.
 */
export function notifyPeels(options: {
  bus: Pick<Bus, "publish">;
  /** Encoded ids of the peels that are connected now. */
  connected(): readonly string[];
  clock: Pick<Clock, "every">;
}): { report(): void; stop(): void } {
  const { bus, connected, clock } = options;
  let waiting: string[] = [];
  let timer: { cancel(): void } | undefined;
  const stop = () => {
    timer?.cancel();
    timer = undefined;
  };
  const some = () => {
    for (const peel of waiting.splice(0, atOnce)) bus.publish(hintSubject(peel), new Uint8Array());
    if (waiting.length === 0) stop();
  };
  return {
    report() {
      waiting = [...connected()];
      some();
      if (waiting.length > 0) timer ??= clock.every(everyMs, some);
    },
    stop,
  };
}
