import * as v from "valibot";
import { defined } from "../../../base/defined.ts";
import { SvcError } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import { openBucket } from "../../../bus/mod.ts";
import type { Approvals } from "../../../fleet/approvals/mod.ts";
import { createAuditGate } from "../../../fleet/audit/mod.ts";
import { decodeJob } from "../../../fleet/jobs/mod.ts";
import type { Agreement, Passenger } from "../../../fleet/operation/mod.ts";
import { createRoleGate, whoAsks, whoCan } from "../../../fleet/roles/mod.ts";
import { decodeRollout, loadTargets } from "../../../fleet/rollout/mod.ts";
import { functionNamed } from "../../../host/modules/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Audited } from "./audit.ts";
import type { Connected } from "./connect.ts";
import type { Fleet } from "./fleet.ts";
import type { Operators } from "./operators.ts";
import type { Roles } from "./roles.ts";
import type { Stored } from "./storage.ts";

/** What stands before every operation, at every door: the roles of operators, and the audit. */
export const gate = {
  start: (deps: MasterDeps & Connected & Stored & Fleet & Audited & Roles & Operators) =>
    assemble(async () => {
      const { bus, roles, storage, resolver, audit, recorder, clock, log } = deps;
      const rollouts = await openBucket(bus, "rollouts");
      const administrators = () => deps.registry.administratorsNow(clock.now());
      const roleGate = createRoleGate({
        book: roles.current,
        administrators,
        resolve: resolver.resolve,
        async jobOf(jid) {
          const entry = isId("job", jid) ? await storage.jobs.get(jid) : undefined;
          if (entry === undefined) return undefined;
          const job = decodeJob(entry.value);
          return { functions: [job.function], peels: job.targets };
        },
        async rolloutOf(id) {
          const entry = isId("rol", id) ? await rollouts.get(id) : undefined;
          if (entry === undefined) return undefined;
          const { plan, ...rollout } = decodeRollout(entry.value);
          const check = plan.check === undefined ? [] : [plan.check.function];
          return { functions: [rollout.function, ...check], peels: await loadTargets(rollouts, id) };
        },
      });
      // Requests that wait can be started when the doors are open: until then they are refused.
      const waiting: { approvals?: Pick<Approvals, "takes" | "park"> } = {};
      const authorize = async (passenger: Passenger) => {
        const { agreement, operation } = passenger;
        let peels: readonly string[] | undefined;
        const { approvals: byRoles, rule } = await roleGate.authorize({
          ...passenger,
          ...(agreement?.peels === undefined ? {} : { touched: { peels: { peels: agreement.peels } } }),
          fix(fixed) {
            peels = fixed;
            passenger.fix?.(fixed);
          },
        });
        if (agreement !== undefined) {
          assertAgreed(agreement, byRoles, peels);
          return;
        }
        const approvals = Math.max(byRoles, askedApprovals(passenger));
        if (approvals === 0) return;
        const why = rule ?? "the request asks for it";
        const keeper = waiting.approvals;
        if (keeper?.takes(operation)) {
          return () => keeper.park(passenger, { needs: approvals, rule: why, ...defined({ peels }) });
        }
        const others = approvals === 1 ? "another operator" : `${approvals} other operators`;
        const { caller } = passenger;
        const who = caller.kind === "operator" ? whoAsks(caller.name, caller.roles ?? []) : caller.kind;
        throw new SvcError(
          "forbidden",
          `${who} may not do this alone: it needs the agreement of ${others} (${why}), and ${operation} cannot wait for it${whoCan(["admin"], administrators())}`,
        );
      };
      const gate = createAuditGate({ authorize, audit, recorder, isSafe: hasPlainArgs, clock, log });
      return {
        gate,
        roleGate,
        administrators,
        waiting,
      };
    }),
};

export type Gated = OffersOf<typeof gate>;

const withApprovals = v.object({ approvals: v.number(), dry_run: v.optional(v.literal(false)) });

/** How many others a request itself says must agree. */
const askedApprovals = ({ caller, input }: Passenger) =>
  caller.kind === "operator" && v.is(withApprovals, input) ? input.approvals : 0;

/** @throws SvcError `forbidden`, `conflict` where something changed since others agreed */
function assertAgreed(agreement: Agreement, needs: number, peels: readonly string[] | undefined): void {
  if (agreement.by.length < needs) {
    throw new SvcError("forbidden", `the roles need the agreement of ${needs} now: ask again`);
  }
  const agreed = agreement.peels?.length;
  if (agreed !== undefined && agreed !== peels?.length) {
    throw new SvcError(
      "conflict",
      `of the ${agreed} peels that others agreed to ${peels?.length ?? 0} are in the fleet now: ask again`,
    );
  }
}

/** A function that this version does not know may take secrets. */
function hasPlainArgs(name: string): boolean {
  try {
    const { plainArgs, args } = functionNamed(name);
    return plainArgs === true || Object.keys(args).length === 0;
  } catch {
    return false;
  }
}
