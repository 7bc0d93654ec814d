import type { Plain } from "../../base/msgpack.ts";
import { arg, define } from "./define.ts";
import type { CallContext, ModuleFunction } from "./function.ts";

/** Functions for zones of DNS. The names are Salt's. */
export const dnsutilFunctions: readonly ModuleFunction[] = [
  define({
    name: "dnsutil.serial",
    plainArgs: true,
    doc: "Returns the serial of a zone: the stored one, or the date with 01. With update it is raised, and stored as the fact dnsserial_ZONE.",
    args: {
      zone: arg.string("Name of the zone; several zones have one serial without it."),
      update: arg.boolean("Raises the serial and stores it; false by default."),
    },
    async run({ zone = "", update = false }, context) {
      await context.facts.ready;
      const serial = serialOf(zone, update, context);
      if (update) context.facts.set(factOf(zone), serial);
      return serial;
    },
  }),
];

/**
 * The serial of a zone, as `YYYYMMDDnn`.
 *
 * @param raised whether it is the one after the stored serial; it is not stored
 */
export function serialOf(
  zone: string,
  raised: boolean,
  {
    facts,
    clock,
  }: { facts: { get(path: string): Plain | undefined }; clock: Pick<CallContext["clock"], "now"> },
): string {
  const stored = facts.get(factOf(zone));
  const today = new Date(clock.now());
  const two = (number: number) => String(number).padStart(2, "0");
  const first = `${today.getFullYear()}${two(today.getMonth() + 1)}${two(today.getDate())}01`;
  const isStored = typeof stored === "string" || typeof stored === "number";
  if (!raised) return isStored ? String(stored) : first;
  // A serial beyond that of today belongs to a zone that changed often; it must never fall.
  return isStored && Number(stored) >= Number(first) ? String(Number(stored) + 1) : first;
}

function factOf(zone: string): string {
  return zone === "" ? "dnsserial" : `dnsserial_${zone}`;
}
