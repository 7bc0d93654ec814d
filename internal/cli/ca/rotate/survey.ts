import * as v from "valibot";
import { decodeForeign } from "../../../base/msgpack.ts";
import { namesOf, type PeelNames } from "../../../base/peel-id.ts";
import { type Bus, openBucket } from "../../../bus/mod.ts";
import { memberStates, readEnrollments } from "../../../fleet/enrollment/mod.ts";
import { readMasters } from "../../../fleet/masters/mod.ts";
import type { Rotation } from "../../../identity/ca/mod.ts";
import { readPeels } from "../../status/heartbeats.ts";

/** Which roots a fleet trusts, while one is rotated. */
export interface TrustSurvey {
  masters: { name: string; phase: string; knows_next: boolean }[];
  /** How many members trust what. */
  peels: { both: number; next_only: number; current_only: number; unknown: number };
  /** Sites whose server has no certificate of the next root. */
  sites: { site: string; reason: string }[];
  /** The members that do not trust the next root. Encoded ids. */
  lacking: (PeelNames & { alive: boolean; reason: string })[];
}

const factsSchema = v.object({
  trust_roots: v.optional(v.fallback(v.optional(v.array(v.string())), undefined)),
  bus_ca_file: v.optional(v.fallback(v.optional(v.string()), undefined)),
});

/** What a peel reports of its trust. */
interface Reported {
  roots: readonly string[] | undefined;
  busCaFile: string | undefined;
}

/** A site as masters show it. */
type ShownSite = { site: string; certificate_root?: string };

/**
 * Reads from the bus which masters have noticed a rotation, and which peels trust the next root.
 *
 * @param askSites what masters show of sites; it is not called while no master runs
 */
export async function surveyTrust(
  bus: Bus,
  { current, next }: { current: string; next: Rotation["next"] },
  askSites: () => Promise<readonly ShownSite[]>,
): Promise<TrustSurvey> {
  const [records, beats, masters, facts] = await Promise.all([
    openBucket(bus, "enrollments").then(readEnrollments),
    openBucket(bus, "peel-heartbeat").then(readPeels),
    openBucket(bus, "master-heartbeat").then(readMasters),
    openBucket(bus, "facts").then((bucket) => bucket.entries()),
  ]);
  const alive = new Set(beats.map(({ key }) => key));
  const reported = new Map(facts.map(({ key, value }) => [key, readReport(value)]));
  const peels = { both: 0, next_only: 0, current_only: 0, unknown: 0 };
  const lacking: TrustSurvey["lacking"] = [];
  const members = records.filter(({ state }) => memberStates.has(state)).map(({ peelId }) => peelId);
  for (const peelId of members.sort()) {
    const { roots, busCaFile } = reported.get(peelId) ?? { roots: undefined, busCaFile: undefined };
    const hasNext = roots?.includes(next.pin) === true;
    if (roots === undefined) peels.unknown++;
    else if (!hasNext) peels.current_only++;
    else if (roots.includes(current)) peels.both++;
    else peels.next_only++;
    if (!hasNext) {
      lacking.push({ ...namesOf(peelId), alive: alive.has(peelId), reason: reasonOf(roots, busCaFile) });
    }
  }
  const sites = masters.length === 0 ? [] : await askSites();
  return {
    sites: sites.flatMap(({ site, certificate_root: root }) =>
      root === next.pin ? [] : { site, reason: reasonOfSite(root) },
    ),
    masters: masters.map(({ name, ca_next_spki, ca_phase, ca_spki }) => ({
      name,
      phase: ca_next_spki === next.pin ? (ca_phase ?? "start") : ca_spki === next.pin ? "finish" : "none",
      knows_next: ca_next_spki === next.pin || ca_spki === next.pin,
    })),
    peels,
    lacking,
  };
}

function reasonOf(roots: readonly string[] | undefined, busCaFile: string | undefined): string {
  if (busCaFile !== undefined) {
    return `it verifies the bus with ${busCaFile}, which its operator named and which never follows: add the next root there`;
  }
  if (roots === undefined)
    return "it does not report its roots: upgrade svc-peel, and check that it reaches a master";
  return "it has not fetched the next root yet: it needs a master in master_urls, and a few seconds";
}

function reasonOfSite(root: string | undefined): string {
  return root === undefined
    ? "it does not renew its certificate by itself: upgrade svc-master there, or issue it by hand and use --force"
    : "it has not asked for it yet: it asks every 10 minutes after activate";
}

/** Facts are claims of a peel: anything that cannot be read reports nothing. */
function readReport(value: Uint8Array): Reported {
  try {
    const { trust_roots, bus_ca_file } = v.parse(factsSchema, decodeForeign(value));
    return { roots: trust_roots, busCaFile: bus_ca_file };
  } catch {
    return { roots: undefined, busCaFile: undefined };
  }
}
