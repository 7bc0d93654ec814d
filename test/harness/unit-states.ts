import { systemClock } from "../../internal/base/clock.ts";
import { unitEnablement, unitNames } from "../../internal/host/services/unit-files.ts";
import { systemOf } from "../../internal/host/system.ts";

/** Prints whether the units of the host it runs on are enabled, as JSON. */
const system = systemOf({
  clock: systemClock,
  signal: new AbortController().signal,
  facts: { get: () => undefined },
});
const units = [".service", ".timer", ".socket"].flatMap((type) => unitNames(system, type));
process.stdout.write(
  JSON.stringify(Object.fromEntries(units.map((unit) => [unit, unitEnablement(system, unit)]))),
);
