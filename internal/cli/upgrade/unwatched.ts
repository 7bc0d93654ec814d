import { toSvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { maxPeels, peelOperations } from "../../fleet/peels/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { allPages } from "../all-pages.ts";
import { peelCount } from "../job/counts.ts";
import { request } from "../request.ts";

const maxNamed = 10;

/**
 * Names the peels that report that they run without a watchdog, and so refuse an upgrade.
 *
 * @param peels encoded ids
 */
export async function warnOfUnwatched(bus: Bus, peels: readonly string[], cli: Pick<Cli, "warn">) {
  const wanted = new Set(peels);
  const target = "G@svc_watchdog:false";
  const found = await allPages(
    (after) => request(bus, peelOperations.listPeels, { target, limit: maxPeels, ...after }),
    "peels",
  ).catch((thrown) => {
    // An operator who may upgrade may lack the right to read facts.
    if (toSvcError(thrown).kind === "forbidden") return [];
    throw thrown;
  });
  const unwatched = found
    .flatMap(({ peel_id }) => (wanted.has(peel_id) ? [displayPeelId(peel_id)] : []))
    .sort();
  if (unwatched.length === 0) return;
  const named = unwatched.slice(0, maxNamed).join(", ");
  const more = unwatched.length > maxNamed ? ` and ${unwatched.length - maxNamed} more` : "";
  cli.warn(
    `${peelCount(unwatched.length)} without a watchdog would refuse: ${named}${more}; start them with svc-peel watchdog`,
  );
}
