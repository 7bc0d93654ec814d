import type { OffersOf } from "../../../program/health/mod.ts";
import { type ClockWatch, watchClock } from "../../clock/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";
import type { Opened } from "./storage.ts";

/** Whether the clock of this host is sound: everything that decides, signs or expires something depends on it. */
export const soundClock = {
  waits: { clock: "not compared yet" },
  async start({
    base: { name, trustsClock, clock, log },
    connection: { bus },
    opened,
  }: {
    base: MasterDeps;
    connection: Connected;
    opened: Opened;
  }) {
    if (trustsClock === true) return { sound: trusted, checks: { clock: trusted.check }, stop() {} };
    const { masterHeartbeats: heartbeats } = opened.storage;
    const sound = await watchClock({ bus, heartbeats, name, clock, log });
    return { sound, checks: { clock: sound.check }, stop: sound.stop };
  },
};

const trusted: ClockWatch = {
  aheadMs: undefined,
  check: () => ({ status: "up" }),
  untilSound: async () => {},
  whileSound: (signal) => signal,
  stop() {},
};

export type SoundClock = OffersOf<typeof soundClock>;
