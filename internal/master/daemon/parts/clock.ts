import type { OffersOf } from "../../../program/health/mod.ts";
import { type ClockWatch, watchClock } from "../../clock/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";
import type { Stored } from "./storage.ts";

/** Whether the clock of this host is sound: everything that decides, signs or expires something goes by it. */
export const soundClock = {
  waits: { clock: "not compared yet" },
  async start({ bus, storage, name, trustsClock, clock, log }: MasterDeps & Connected & Stored) {
    if (trustsClock === true) return { sound: trusted, checks: { clock: trusted.check }, stop() {} };
    const sound = await watchClock({ bus, heartbeats: storage.masterHeartbeats, name, clock, log });
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
