import type { Lease, Tenure } from "../../bus/lease/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { GitSync } from "../../tree/git/mod.ts";
import type { Refusal } from "./decide.ts";

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
}

export function createFilesStatus(lease: () => Pick<Lease, "tenure" | "holder">): FilesStatus {
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
      return problem === undefined ? { status: "up" } : { status: "degraded", message: problem };
    },
    async states(statesOf) {
      const { tenure, holder } = lease();
      if (tenure !== undefined) {
        const problem = problemOf(refusals, "states");
        if (problem === undefined) return { status: "up" };
        return { status: "degraded", message: `${problem}; the last good files stay in force` };
      }
      const other = holder?.holder;
      const said = other === undefined ? undefined : await statesOf(other);
      return { status: "up", message: said === undefined ? "" : `${other} refused state files: ${said}` };
    },
    refused() {
      if (git === undefined || git.tenure !== lease().tenure) return undefined;
      return git.sync.refused() + refusals.filter(({ stage }) => stage === "gitfs").length;
    },
  };
}

/** What a stage does not let come into force, in one line. */
function problemOf(refusals: readonly Refusal[], wanted: string): string | undefined {
  const lines = refusals.flatMap(({ environment, stage, reason }) =>
    stage === wanted ? [`environment ${environment}: ${reason}`] : [],
  );
  const more = lines.length - shownRefusals;
  if (lines.length === 0) return undefined;
  return `${lines.slice(0, shownRefusals).join("; ")}${more > 0 ? `; and ${more} more, see the log` : ""}`;
}
