import type { PeelSurvey } from "./fleet-reads.ts";
import { peelCount } from "./job/counts.ts";

const dayMs = 24 * 3600_000;
/** A release is renewed in this time at the latest. */
const soonMs = 14 * dayMs;
const environment = "base";

type Surveyed = Pick<PeelSurvey, "alive" | "silent_count" | "insisting" | "releases">;

/** How the peels of a fleet stand to the newest release of `base`. */
export interface ReleaseOutlook {
  /** Peels that obey operators only, and have no release of what is in force: `3 peels wait for a release of base`. */
  waiting?: string;
  /** The same of a fleet without such peels: all that would wait. */
  wouldWait?: string;
  /** The version of the release in force. */
  version?: number;
}

/** @returns `undefined` where nobody knows the releases: they are not read from the bus directly */
export function releaseOutlook(survey: Surveyed): ReleaseOutlook | undefined {
  const { releases, insisting = 0, alive, silent_count } = survey;
  if (releases === undefined) return undefined;
  const base = releases.find((one) => one.environment === environment);
  if (base === undefined || base.is_released) {
    return base?.version === undefined ? {} : { version: base.version };
  }
  const of = `for a release of ${environment}`;
  if (insisting > 0)
    return { waiting: `${peelCount(insisting)} ${insisting === 1 ? "waits" : "wait"} ${of}` };
  return { wouldWait: `${peelCount(alive + silent_count)} would wait ${of}` };
}

/** Remarks about releases for the operator. @param now milliseconds since the Unix epoch */
export function notesOnReleases(survey: Surveyed, now: number): string[] {
  const waiting = releaseOutlook(survey)?.waiting;
  const ending = (survey.releases ?? []).flatMap(({ environment, version, operator, ends_at }) => {
    const at = Date.parse(ends_at ?? "");
    if (Number.isNaN(at) || at - now >= soonMs) return [];
    const ends = at <= now ? "ended" : "ends";
    return [
      `the record of ${operator}, who signed release ${version} of ${environment}, ${ends} at ${ends_at}: renew it with svc operator renew ${operator}, or have another operator run svc states release`,
    ];
  });
  return [...(waiting === undefined ? [] : [`${waiting}: see svc states release`]), ...ending];
}
