import { systemOf } from "../../../host/system/system.ts";
import { currentZone, setZone, zoneProblem } from "../../../host/system/timezone.ts";
import { defineState, type StateFunction } from "../../function/mod.ts";
import { planSteps, refuseWith, says } from "../steps.ts";

/** States of the time zone. */
export const timezoneStates: readonly StateFunction[] = [
  defineState({
    name: "timezone.system",
    doc: "Ensures that the host has this time zone, such as Europe/Berlin.",
    args: {},
    plan(name, _, context) {
      const system = systemOf(context);
      refuseWith(zoneProblem(system, name));
      const now = currentZone(system);
      const run = () => setZone(system, name);
      const steps = now === name ? [] : [{ changes: { timezone: { old: now ?? "", new: name } }, run }];
      return planSteps(steps, says("the time zone", `set to ${name}`, `the time zone is ${name}`));
    },
  }),
];
