import { openBucket } from "../../../bus/mod.ts";
import type { Approvals } from "../../../fleet/approvals/mod.ts";
import { createGate, hasPlainArgs, readStoredWork } from "../../../fleet/gate/mod.ts";
import { createRoleGate } from "../../../fleet/roles/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Audited } from "./audit.ts";
import type { Connected } from "./connect.ts";
import type { Fleet } from "./fleet.ts";
import type { Operators } from "./operators.ts";
import type { Roles } from "./roles.ts";
import type { Stored } from "./storage.ts";

/** The gate before every operation, at every door. */
export const gate = {
  start: (deps: MasterDeps & Connected & Stored & Fleet & Audited & Roles & Operators) =>
    assemble(async () => {
      const { bus, roles, storage, resolver, audit, recorder, clock, log } = deps;
      const administrators = () => deps.registry.administratorsNow(clock.now());
      const roleGate = createRoleGate({
        ...{ book: roles.current, administrators, resolve: resolver.resolve },
        ...readStoredWork({ jobs: storage.jobs, rollouts: await openBucket(bus, "rollouts") }),
      });
      // Requests that wait can be started when the doors are open: until then they are refused.
      const waiting: { approvals?: Pick<Approvals, "takes" | "park"> } = {};
      const gate = createGate({
        ...{ roles: roleGate, approvals: () => waiting.approvals, administrators },
        ...{ audit, recorder, isSafe: hasPlainArgs, clock, log },
      });
      return { gate, roleGate, administrators, waiting };
    }),
};

export type Gated = OffersOf<typeof gate>;
