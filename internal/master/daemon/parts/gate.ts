import { SvcError } from "../../../base/errors.ts";
import { openBucket } from "../../../bus/storage/mod.ts";
import type { Approvals } from "../../../fleet/approvals/mod.ts";
import { type Enrollments, loadEnrollment } from "../../../fleet/enrollment/store/mod.ts";
import { createGate, type GateDeps, hasPlainArgs, readStoredWork } from "../../../fleet/gate/mod.ts";
import type { Scope } from "../../../fleet/operation/mod.ts";
import { meantFiles } from "../../../fleet/releases/mod.ts";
import { createRoleGate } from "../../../fleet/roles/mod.ts";
import type { ResolveDeps } from "../../../fleet/targeting/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterStateFiles } from "../../state-files/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Audited } from "./audit.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Knowledge } from "./knowledge.ts";
import type { Operators } from "./operators.ts";
import type { Roles } from "./roles.ts";

interface GateNeed {
  base: MasterDeps;
  connection: Connected;
  audit: Audited;
  roles: Roles;
  operators: Operators;
  decisions: Decisions;
  knowledge: Knowledge;
}

/** The gate before every operation, at every door. */
export const gate = {
  start: ({ base, connection, audit, roles, operators, decisions, knowledge }: GateNeed) =>
    assemble(async () => {
      const { clock, log } = base;
      const administrators = () => operators.registry.administratorsNow(clock.now());
      const rollouts = await openBucket(connection.bus, "rollouts");
      // What starts later. Until then requests that need it are refused.
      const later: {
        /** Requests that wait can be started when the doors are open. */
        approvals?: Pick<Approvals, "takes" | "park" | "contents">;
        files?: Pick<MasterStateFiles, "resolve" | "assertPublished" | "isNewest">;
      } = {};
      const roleGate = createRoleGate({
        ...{ book: roles.roles.current, administrators, resolve: knowledge.resolver.resolve },
        ...readStoredWork({ jobs: decisions.storage.jobs, rollouts }),
        labelsOf: (id) => labelsNow(decisions.storage.enrollments, id),
        isNewest: async (environment, commit) => filesNow(later.files).isNewest(environment, commit),
      });
      const { releases } = decisions.releases;
      const meant = {
        resolve: async (wanted: Parameters<MasterStateFiles["resolve"]>[0]) =>
          filesNow(later.files).resolve(wanted),
        newest: (environment: string) => releases.newest(environment)?.release.snapshot,
        insists: knowledge.insists,
      };
      const resolveFiles: GateDeps["resolveFiles"] = (of) => meantFiles(meant, of);
      const gate = createGate({
        ...{ roles: roleGate, approvals: () => later.approvals, administrators, resolveFiles },
        resolve: knowledge.resolver.resolve,
        assertPublished: async (content) => filesNow(later.files).assertPublished(content),
        ...{ audit: audit.audit, recorder: audit.recorder, isSafe: hasPlainArgs, clock, log },
      });
      const mayUse: ResolveDeps["mayUse"] = async (caller, input) => {
        const roles = caller.kind === "operator" ? caller.roles : undefined;
        const touched = { peels: { peels: [] } };
        const judge = (scope: Scope) => roleGate.judge(roles, { scope, input, touched });
        // Who may only start rollouts signs their files as well.
        if ((await judge({ kind: "jobs", action: "run" })).allowed) return true;
        return (await judge({ kind: "rollouts", action: "start" })).allowed;
      };
      return { gate, roleGate, administrators, resolveFiles, mayUse, later };
    }),
};

/** The operation says whether there is such an enrollment. */
async function labelsNow(enrollments: Enrollments, id: string) {
  try {
    const { labels = {}, former } = (await loadEnrollment(enrollments, id)).record;
    return { labels, former: former?.labels ?? {} };
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.kind === "not_found") return { labels: {}, former: {} };
    throw thrown;
  }
}

/** @throws SvcError `unavailable` */
function filesNow<T>(files: T | undefined): T {
  if (files !== undefined) return files;
  throw new SvcError("unavailable", "this master does not know the state files yet: try again");
}

export type Gated = OffersOf<typeof gate>;
