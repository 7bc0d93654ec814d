import type { Bus } from "../../../bus/connection/mod.ts";
import { masterOperations } from "../../../fleet/masters/mod.ts";
import { peelOperations } from "../../../fleet/peels/mod.ts";
import type { Rotation } from "../../../identity/ca/mod.ts";
import { type AnswerTo, request } from "../../request.ts";

/** Which roots a fleet trusts, while one is rotated. */
export interface TrustSurvey {
  masters: { name: string; phase: string; knows_next: boolean }[];
  /** How many members trust what. */
  peels: { both: number; next_only: number; current_only: number; unknown: number };
  /** Sites whose server has no certificate of the next root. */
  sites: { site: string; reason: string }[];
  /** The members that do not trust the next root. Encoded ids. */
  lacking: AnswerTo<typeof peelOperations.surveyRoots>["lacking"];
}

/** A site as masters show it. */
type ShownSite = { site: string; certificate_root?: string };

/**
 * Asks which masters have noticed a rotation, and which peels trust the next root.
 *
 * @param readSites what masters show of sites
 */
export async function surveyTrust(
  bus: Bus,
  { current, next }: { current: string; next: Rotation["next"] },
  readSites: () => Promise<readonly ShownSite[]>,
): Promise<TrustSurvey> {
  const [{ masters }, { counts, lacking }, sites] = await Promise.all([
    request(bus, masterOperations.listMasters, {}),
    request(bus, peelOperations.surveyRoots, { current, next: next.pin }),
    readSites(),
  ]);
  return {
    sites: sites.flatMap(({ site, certificate_root: root }) =>
      root === next.pin ? [] : { site, reason: reasonOfSite(root) },
    ),
    masters: masters.map(({ name, ca_next_spki, ca_phase, ca_spki }) => ({
      name,
      phase: ca_next_spki === next.pin ? (ca_phase ?? "start") : ca_spki === next.pin ? "finish" : "none",
      knows_next: ca_next_spki === next.pin || ca_spki === next.pin,
    })),
    peels: counts,
    lacking,
  };
}

function reasonOfSite(root: string | undefined): string {
  return root === undefined
    ? "it does not renew its certificate by itself: name site and master_urls in its master.yaml, or issue it by hand and use --force"
    : "it has not asked for it yet: it asks every 10 minutes after activate";
}
