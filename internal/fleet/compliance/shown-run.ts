import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { described, titled } from "../../base/schema.ts";
import { localCommit } from "../../wire/content-words.ts";
import { runOnly } from "../../wire/state-report.ts";
import { type KnownRun, runAt, statuses, statusOf } from "./status.ts";

/** The commit of the files of a run, as answers show it. */
export const shownCommit = described(
  v.string(),
  "Commit of the state files; `local` where no single commit describes them, empty where it is not known",
);

/** Reports say nothing where no single commit describes the files. */
export const commitOf = ({ commit, snapshot }: { commit: string; snapshot?: string }): string =>
  commit === "" && snapshot !== undefined ? localCommit : commit;

/** The last run of a peel, without the names of states. */
export const shownRun = titled(
  "LastRun",
  v.object({
    ...runOnly.shownEntries,
    commit: shownCommit,
    status: described(v.picklist(statuses), "Whether the peel is as described, from this run"),
  }),
);
export type ShownRun = v.InferOutput<typeof shownRun>;

/** @param now milliseconds since the Unix epoch @param staleMs how long a run counts */
export function lastRun(known: KnownRun, now: number, staleMs: number): ShownRun {
  return {
    ...runOnly.show(known.report),
    commit: commitOf(known.report),
    run_at: rfc3339(runAt(known)),
    status: statusOf(known, now, staleMs),
  };
}
