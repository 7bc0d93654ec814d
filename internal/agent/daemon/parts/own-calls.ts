import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { startStartupStates } from "../../execution/mod.ts";
import type { PeelDeps } from "../options.ts";
import { startSchedule } from "../schedule.ts";
import type { LocalPhase } from "./local.ts";
import type { Stores } from "./stores.ts";

/** Calls that this peel makes by itself: those of its schedule, and the start-up states. */
export const ownCalls = {
  start: (deps: PeelDeps & Stores & LocalPhase) =>
    assemble((stack) => {
      const schedule = startSchedule({ ...deps, entries: deps.config.schedule });
      stack.defer(() => schedule.stop());
      const startup = startStartupStates({ ...deps, executor: deps.local.executor });
      stack.defer(() => startup.stop());
      return { startup };
    }),
};

export type OwnCalls = OffersOf<typeof ownCalls>;
