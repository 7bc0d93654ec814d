import * as v from "valibot";
import { described, integer, titled } from "../../base/schema.ts";
import { shownSnapshot, snapshotDigest } from "../../wire/content.ts";
import { filesFields } from "../../wire/state-report.ts";
import { commitOf, shownCommit } from "./shown-run.ts";
import { type ComplianceStatus, type KnownRun, statuses, statusOf } from "./status.ts";

/** Groups in one answer: a peel can claim any commit. */
export const maxGroups = 200;

const counted = (description: string) => described(integer, description);
/** How many peels have each status. */
export const countsFields = {
  described: counted("Peels that were as described"),
  drifted: counted("Peels where something was changed, or would be"),
  failed: counted("Peels where states failed"),
  stale: counted("Peels whose last run is too long ago"),
  never: counted("Peels that never reported a run"),
} satisfies Record<ComplianceStatus, unknown>;

/** The peels whose last run used the same files. */
export const groupFields = titled(
  "StatesGroup",
  v.object({
    environment: v.exactOptional(filesFields.environment),
    commit: v.exactOptional(shownCommit),
    snapshot: v.exactOptional(shownSnapshot),
    ...countsFields,
  }),
);

type Counts = Record<ComplianceStatus, number>;
type Group = v.InferOutput<typeof groupFields>;

const none = (): Counts => ({ described: 0, drifted: 0, failed: 0, stale: 0, never: 0 });
const sum = (counts: Counts): number => statuses.reduce((all, status) => all + counts[status], 0);

/** @param runs the last run of each peel; `undefined` where there is none */
export function countStatuses(runs: readonly (KnownRun | undefined)[], now: number, staleMs: number): Counts {
  const counts = none();
  for (const known of runs) counts[statusOf(known, now, staleMs)]++;
  return counts;
}

function filesOf({ report }: KnownRun): Pick<Group, "environment" | "commit" | "snapshot"> {
  const { environment, snapshot } = report;
  return {
    ...{ environment, commit: commitOf(report) },
    ...(snapshot === undefined ? {} : { snapshot: snapshotDigest.write(snapshot) }),
  };
}

/** Counts peels by the files of their last run, the largest groups first. */
export function countByFiles(
  runs: readonly (KnownRun | undefined)[],
  now: number,
  staleMs: number,
): { counts: Counts; groups: Group[]; groups_left_out?: number } {
  const groups = new Map<string, Group>();
  for (const known of runs) {
    const { environment, commit, snapshot } = known?.report ?? {};
    const key = JSON.stringify([environment, commit, snapshot]);
    let group = groups.get(key);
    if (group === undefined) {
      group = { ...(known === undefined ? {} : filesOf(known)), ...none() };
      groups.set(key, group);
    }
    group[statusOf(known, now, staleMs)]++;
  }
  const counts = none();
  for (const group of groups.values()) for (const status of statuses) counts[status] += group[status];
  const sorted = [...groups].toSorted(
    ([key, one], [other, two]) => sum(two) - sum(one) || (key < other ? -1 : 1),
  );
  const leftOut = sorted.length - maxGroups;
  return {
    counts,
    groups: sorted.slice(0, maxGroups).map(([, group]) => group),
    ...(leftOut > 0 ? { groups_left_out: leftOut } : {}),
  };
}
