import type { Clock } from "../../base/clock.ts";
import { charge, type Meter, newMeter } from "../../base/meter.ts";

/** A peel sends up to three reports a second; what was delayed may come together. */
const budget = { perMinute: 240, burst: 16 };

/** Bounds how many reports of one peel about a job are passed on: a peel may send any number. */
export interface Pace {
  admit(peel: string): boolean;
}

/** Its memory grows with the peels that are asked about: only targets of the job. */
export function createPace(clock: Pick<Clock, "monotonic">): Pace {
  const meters = new Map<string, Meter>();
  return {
    admit(peel) {
      const now = clock.monotonic();
      const meter = meters.get(peel) ?? newMeter(budget, now);
      meters.set(peel, meter);
      return charge(meter, budget, 0, now).within;
    },
  };
}
