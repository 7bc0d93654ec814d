import type { Directory } from "../enrollment/store/mod.ts";
import type { FleetIndex } from "../targeting/mod.ts";
import { assertIndexed } from "./assert-indexed.ts";
import { packedFact } from "./packed-fact.ts";

const maxListed = 5_000;

/** Where the roots that peels trust are known. */
export interface TrustDeps {
  directory: Pick<Directory, "caughtUp" | "members">;
  index: Pick<FleetIndex, "caughtUp" | "factsOf" | "lifeOf" | "running">;
}

interface Lacking {
  peel_id: string;
  alive: boolean;
  reason: string;
}

/**
 * Counts which members trust the next root, as they report it in their facts.
 *
 * @param pins of the root in force and of the next one
 */
export async function surveyTrust(
  { directory, index }: TrustDeps,
  { current, next }: { current: string; next: string },
) {
  assertIndexed(index);
  await Promise.all([directory.caughtUp(), index.caughtUp({ facts: true, heartbeats: true })]);
  const counts = { both: 0, next_only: 0, current_only: 0, unknown: 0 };
  const lacking = { alive: [] as Lacking[], away: [] as Lacking[] };
  for (const peel of directory.members()) {
    const facts = index.factsOf(peel);
    const roots = packedFact(facts, "trust_roots");
    const file = packedFact(facts, "bus_ca_file");
    const known = Array.isArray(roots) ? roots : undefined;
    if (known === undefined) counts.unknown++;
    else if (!known.includes(next)) counts.current_only++;
    else if (known.includes(current)) counts.both++;
    else counts.next_only++;
    if (known?.includes(next) === true) continue;
    const { alive } = index.lifeOf(peel);
    const reason = reasonOf(known, typeof file === "string" ? file : undefined);
    lacking[alive ? "alive" : "away"].push({ peel_id: peel, alive, reason });
  }
  // Those that a step of the rotation would cut off come first: they must not be missing from a long list.
  return { counts, lacking: [...lacking.alive, ...lacking.away].slice(0, maxListed) };
}

function reasonOf(roots: readonly unknown[] | undefined, busCaFile: string | undefined): string {
  if (busCaFile !== undefined) {
    return `it verifies the bus with ${busCaFile}, which its operator named and which never follows: add the next root there`;
  }
  if (roots === undefined) return "it does not report its roots: check that it reaches a master";
  return "it has not fetched the next root yet: it needs a master in master_urls, and a few seconds";
}
