import { defined } from "../../base/defined.ts";
import type { Lease, Tenure } from "../../bus/lease/mod.ts";
import { boundReport, type FilesReport, firstFindings } from "../../fleet/releases/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { GitSync } from "../../tree/git/mod.ts";
import { snapshotDigest } from "../../wire/content.ts";
import type { CheckedSnapshot, StateStage } from "./check-states.ts";
import { type Refusal, releaseStage } from "./decide.ts";

const shownRefusals = 3;

/** What this master reports about the state files that it publishes. */
export interface FilesStatus {
  /** Notes what reads the repositories during a tenure, and returns it. */
  reads(sync: GitSync, tenure: Tenure): GitSync;
  /** Notes what does not come into force now. */
  refuses(refusals: readonly Refusal[]): void;
  /** `gitfs` of /readyz. */
  gitfs(): CheckResult;
  /** `states` of /readyz. @param statesOf what another master says of its check, while it is not well */
  states(statesOf: (master: string) => Promise<string | undefined>): Promise<CheckResult>;
  /** How many refs and environments are not published; `undefined` on a master that does not read them now. */
  refused(): number | undefined;
  /** All that is not published, and what a person should look at. @param environments that have files in force */
  report(environments: readonly string[]): FilesReport;
}

export function createFilesStatus(
  lease: () => Pick<Lease, "tenure" | "holder">,
  found: StateStage["found"] = () => undefined,
): FilesStatus {
  let git: { sync: GitSync; tenure: Tenure } | undefined;
  let refusals: readonly Refusal[] = [];
  return {
    reads(sync, tenure) {
      git = { sync, tenure };
      return sync;
    },
    refuses(now) {
      refusals = now;
    },
    gitfs() {
      const { tenure, holder } = lease();
      if (tenure === undefined) {
        return { status: "up", message: `not this master's turn: ${holder?.holder ?? "nobody"} holds it` };
      }
      if (git?.tenure !== tenure) return { status: "degraded", message: "no successful sync yet" };
      if (!git.sync.running) return { status: "down", message: "the syncer ended" };
      const problem = git.sync.problem() ?? problemOf(refusals, "gitfs");
      if (problem === undefined) return { status: "up" };
      return {
        status: "degraded",
        message: problem,
        ...defined({ next: nextOfRemote(git.sync.problems()) }),
      };
    },
    async states(statesOf) {
      const { tenure, holder } = lease();
      if (tenure !== undefined) {
        const problem = problemOf(refusals, "states");
        if (problem === undefined) return { status: "up" };
        const message = `${problem}; the last good files stay in force`;
        return { status: "degraded", message, ...defined({ next: nextOfFile(refusals) }) };
      }
      const other = holder?.holder;
      const said = other === undefined ? undefined : await statesOf(other);
      return { status: "up", message: said === undefined ? "" : `${other} refused state files: ${said}` };
    },
    refused() {
      if (git === undefined || git.tenure !== lease().tenure) return undefined;
      const refs = git.sync.problems().filter(({ ref }) => ref !== undefined);
      return refs.length + refusals.filter(({ stage }) => stage === "gitfs").length;
    },
    report(environments) {
      const { tenure } = lease();
      if (tenure === undefined) return boundReport([], []);
      const refs = git?.tenure === tenure ? git.sync.problems() : [];
      // What waits for a release is listed with the releases.
      const files = refusals.filter(({ stage }) => stage !== "sources" && stage !== releaseStage);
      const hints = [...new Set([...environments, ...files.map(({ environment }) => environment)])];
      return boundReport(
        [...refs.map((one) => ({ ...one })), ...files.map((one) => refusedFiles(one, found))],
        hints.flatMap((name) => hintsOf(found(name))),
      );
    },
  };
}

/** What to look at for a repository that is not read, or a ref of it; `undefined` when neither is the problem. */
function nextOfRemote([first]: ReturnType<GitSync["problems"]>): string | undefined {
  if (first === undefined) return undefined;
  const { remote, ref } = first;
  if (ref !== undefined) return `correct ${ref} of ${remote}, and push it`;
  return `git ls-remote ${remote}, on the host of that master; then correct its network, its credentials or gitfs.remotes`;
}

/** The place in a file at which a reason begins. */
const placeAtStart = /^(\S+:\d+:\d+): /;

function nextOfFile(refusals: readonly Refusal[]): string | undefined {
  for (const { environment, stage, reason } of refusals) {
    const [, place] = stage === "states" ? (placeAtStart.exec(reason) ?? []) : [];
    if (place !== undefined) return `correct ${place} of environment ${environment}`;
  }
  return undefined;
}

/** What a stage does not let come into force, in one line. */
function problemOf(refusals: readonly Refusal[], wanted: string): string | undefined {
  const lines = refusals.flatMap(({ environment, stage, reason }) =>
    stage === wanted ? [`environment ${environment}: ${reason}`] : [],
  );
  const more = lines.length - shownRefusals;
  if (lines.length === 0) return undefined;
  return `${lines.slice(0, shownRefusals).join("; ")}${more > 0 ? `; and ${more} more: see svc status` : ""}`;
}

function refusedFiles(
  { environment, stage, reason }: Refusal,
  found: StateStage["found"],
): FilesReport["refused"][number] {
  const checked = stage === "states" ? found(environment) : undefined;
  // Files that are good may still wait, such as for those of a release that masters lack.
  if (checked === undefined || checked.problems.length === 0) return { environment, reason };
  const { commit, snapshot, problems, yields } = checked;
  return {
    ...{ environment, commit, snapshot: snapshotDigest.write(snapshot), reason, ...defined({ yields }) },
    ...firstFindings("problems", problems),
  };
}

function hintsOf(checked: CheckedSnapshot | undefined): FilesReport["hints"] {
  if (checked === undefined || checked.hints.length === 0) return [];
  const { environment, commit, snapshot, hints } = checked;
  return [
    { environment, commit, snapshot: snapshotDigest.write(snapshot), ...firstFindings("hints", hints) },
  ];
}
