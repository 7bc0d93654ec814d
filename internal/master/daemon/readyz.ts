import type { Clock } from "../../base/clock.ts";
import { type Bus, encodeSuccess, readyzSubject } from "../../bus/mod.ts";
import { type Check, runChecks } from "../../program/health/mod.ts";

/** Answers operators over the bus what /readyz says, for those who cannot reach that port. */
export const readyzOnBus = {
  start({
    bus,
    name,
    checks,
    clock,
  }: {
    bus: Pick<Bus, "serve">;
    /** Of this master. */
    name: string;
    checks: () => Readonly<Record<string, Check>>;
    clock: Clock;
  }): { stop(): void } {
    // Its own subject, so there is nobody to share the requests with.
    return bus.serve(readyzSubject(name), name, async () => {
      const { ready, checks: found } = await runChecks(checks(), clock);
      const told = Object.entries(found).map(([check, { status, message }]) => [
        check,
        { status, ...(message === undefined ? {} : { message: message.slice(0, 500) }) },
      ]);
      return encodeSuccess({ ready, checks: Object.fromEntries(told) });
    });
  },
};
