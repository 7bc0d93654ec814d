import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { toSvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { described, integer, titled } from "../../base/schema.ts";
import { type Budget, type Comparison, comparisonBudget } from "../../tree/comparison/mod.ts";
import { shownSnapshot } from "../../wire/content.ts";
import type { ComplianceView } from "../compliance/mod.ts";
import type { Approval } from "./record.ts";

/** Groups that are compared; peels can claim any snapshot. */
const maxGroups = 10;
const namedPeels = 3;

const lasts = ["ran", "never_ran", "test_only", "unknown"] as const;
const changeFields = titled(
  "ApprovalChanges",
  v.object({
    peels: described(integer, "How many peels ran these files last"),
    such_as: described(v.array(v.string()), "The first of them"),
    last: described(
      v.picklist(lasts),
      "`never_ran`: no run was reported; `test_only`: the last run changed nothing, so it is not known what ran before; `unknown`: the last report names no files. These are compared with no files at all",
    ),
    environment: v.exactOptional(described(v.string(), "Environment of what they ran last")),
    commit: v.exactOptional(described(v.string(), "Commit of what they ran last")),
    snapshot: v.exactOptional(shownSnapshot),
    problem: v.exactOptional(described(v.string(), "Why they cannot be compared: `no longer stored`")),
    added: described(integer, "How many files are new"),
    changed: described(integer, "How many files have other content, or another mode"),
    removed: described(integer, "How many files are gone"),
    files: described(
      v.array(v.object({ change: v.picklist(["+", "~", "-"]), path: v.string() })),
      "The files that differ",
    ),
    left_out: described(integer, "Files that differ and are not listed"),
    diff: v.exactOptional(described(v.string(), "The differences themselves")),
  }),
);
/** How the files of a request differ from what its peels ran last, a group for each snapshot. */
export const changesField = v.array(changeFields);
type Changes = v.InferOutput<typeof changeFields>;

/** Reads published files; what it cannot read is a failure of this group alone. */
export type CompareFiles = (
  of: { before: string | undefined; after: string; withText: boolean },
  budget: Budget,
) => Promise<Comparison>;

export interface ChangesDeps {
  runs: Pick<ComplianceView, "runOf" | "caughtUp">;
  compareFiles: CompareFiles;
  /** Whether a peel runs released files alone. */
  insists(peel: string): boolean;
  clock: Pick<Clock, "monotonic">;
}

interface Group extends Pick<Changes, "last" | "environment" | "commit"> {
  peels: string[];
  snapshot?: string;
  /** What they would run. */
  after: string;
}

/** @returns `undefined` for a request that runs no files */
export async function changesOf(
  { runs, compareFiles, insists, clock }: ChangesDeps,
  { content, released = content, targets = [] }: Pick<Approval, "content" | "released" | "targets">,
  withText: boolean,
): Promise<{ changes: Changes[]; changes_left_out?: number } | undefined> {
  if (content === undefined || released === undefined) return undefined;
  await runs.caughtUp();
  const groups = groupsOf(targets, runs, (peel) => (insists(peel) ? released : content).snapshot);
  const budget = comparisonBudget(clock);
  const changes: Changes[] = [];
  for (const { peels, snapshot, after, ...group } of groups.slice(0, maxGroups)) {
    const shown = { ...group, peels: peels.length, such_as: peels.slice(0, namedPeels).map(displayPeelId) };
    const ran = snapshot === undefined ? {} : { snapshot: Buffer.from(snapshot, "hex") };
    const compared = await compareFiles({ before: snapshot, after, withText }, budget).catch(notCompared);
    changes.push({ ...shown, ...ran, ...compared });
  }
  const leftOut = groups.length - changes.length;
  return { changes, ...(leftOut > 0 ? { changes_left_out: leftOut } : {}) };
}

function notCompared(thrown: unknown) {
  const { kind, message } = toSvcError(thrown);
  const problem = kind === "not_found" ? "no longer stored" : message;
  return { problem, added: 0, changed: 0, removed: 0, files: [], left_out: 0 };
}

/** The largest first. */
function groupsOf(
  targets: readonly string[],
  runs: ChangesDeps["runs"],
  afterOf: (peel: string) => string,
): Group[] {
  const groups = new Map<string, Group>();
  for (const peel of targets) {
    const last = { ...lastOf(peel, runs), after: afterOf(peel) };
    const key = JSON.stringify(last);
    const group = groups.get(key) ?? { ...last, peels: [] };
    group.peels.push(peel);
    groups.set(key, group);
  }
  return [...groups.values()].sort((one, other) => other.peels.length - one.peels.length);
}

/** A run that only tests needs no agreement: what it used must not hide what an agreement would change. */
function lastOf(peel: string, { runOf }: ChangesDeps["runs"]): Omit<Group, "peels" | "after"> {
  const report = runOf(peel)?.report;
  if (report === undefined) return { last: "never_ran" };
  const { test, snapshot, environment, commit } = report;
  if (test) return { last: "test_only" };
  return snapshot === undefined ? { last: "unknown" } : { last: "ran", environment, commit, snapshot };
}
