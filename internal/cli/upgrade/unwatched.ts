import { decodeForeign } from "../../base/msgpack.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import { type Bus, openBucket } from "../../bus/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { peelCount } from "../job/counts.ts";

const mostNamed = 10;

/**
 * Names the peels that report that they run without a watchdog, and so refuse an upgrade. Peels of earlier
 * versions report nothing.
 *
 * @param peels encoded ids
 */
export async function warnOfUnwatched(bus: Bus, peels: readonly string[], cli: Pick<Cli, "warn">) {
  const wanted = new Set(peels);
  const entries = await (await openBucket(bus, "facts")).entries();
  const unwatched = entries
    .filter(({ key, value }) => wanted.has(key) && reportsNone(value))
    .map(({ key }) => displayPeelId(key))
    .sort();
  if (unwatched.length === 0) return;
  const named = unwatched.slice(0, mostNamed).join(", ");
  const more = unwatched.length > mostNamed ? ` and ${unwatched.length - mostNamed} more` : "";
  cli.warn(
    `${peelCount(unwatched.length)} without a watchdog would refuse: ${named}${more}; start them with svc-peel watchdog`,
  );
}

function reportsNone(value: Uint8Array): boolean {
  try {
    const facts = decodeForeign(value);
    return typeof facts === "object" && facts !== null && "svc_watchdog" in facts && !facts.svc_watchdog;
  } catch {
    return false;
  }
}
