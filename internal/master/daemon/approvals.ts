import { describeError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import {
  type ApprovalDeps,
  type Approvals,
  createApprovals,
  createStarters,
  followApprovals,
  type Party,
  type Starters,
} from "../../fleet/approvals/mod.ts";
import { publishApprovals } from "../../fleet/events/mod.ts";
import type { Gate } from "../../fleet/operation/mod.ts";
import type { RoleGate } from "../../fleet/roles/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { MasterSignIn } from "../sign-in/mod.ts";
import type { MasterDeps } from "./options.ts";
import type { Gated } from "./parts/gate.ts";
import type { Requests } from "./parts/requests.ts";
import type { Roles } from "./parts/roles.ts";

/** Half of the time after which a master that starts a request counts as killed. */
const sweepMs = 7_500;

/** Requests that wait for other operators, on a master. */
export interface MasterApprovals {
  operations: Omit<ApprovalDeps, "changes" | "peelOf">;
  starters: Starters;
  /** From here on requests wait instead of being refused: everything that can be started is known. */
  open(): void;
  stop(): Promise<void>;
}

interface MasterApprovalsDeps {
  bus: Bus;
  /** The bucket `approvals`. */
  bucket: Bucket;
  mac: RecordMac;
  gate: Gate;
  roleGate: RoleGate;
  /** Where the gate finds the requests that wait. */
  later: Gated["later"];
  administrators(): readonly string[];
  rolesOfSigner: Requests["rolesOfSigner"];
  signIn: Pick<MasterSignIn, "rolesNow" | "operations">;
  persons: Roles["roles"]["persons"];
}

export function startApprovals(
  { config, clock, random, log }: Pick<MasterDeps, "config" | "clock" | "random" | "log">,
  deps: MasterApprovalsDeps,
): MasterApprovals {
  const { bus, bucket, mac, gate, roleGate, later, signIn } = deps;
  const starters = createStarters();
  const publisher = publishApprovals({ bus, clock, log });
  const view = followApprovals({ bucket, mac, publisher, clock, log });
  const approvals: Approvals = createApprovals({
    ...{ bucket, view, mac, starters, gate, roleGate, administrators: deps.administrators },
    rolesNow: ({ name, key, bearer, roles }: Party) => {
      if (key !== undefined) return deps.rolesOfSigner(name, key);
      // Its roles are in a token that nobody keeps.
      if (bearer === undefined || bearer === "oidc") return { roles };
      const now = signIn.rolesNow(name, bearer);
      return now === undefined ? { refused: "the token has ended" } : { roles: now };
    },
    persons: deps.persons,
    creatorOf(token) {
      const creator = signIn.operations.view.all().find(({ id }) => id === token)?.creator;
      return creator === "unregistered" ? undefined : creator;
    },
    ttlMs: config["approvals.ttl"],
    ...{ clock, random, log },
  });
  let isSweeping = false;
  const sweep = () => {
    if (isSweeping) return;
    isSweeping = true;
    approvals
      .sweep()
      .catch((thrown) => log.warn("requests that wait cannot be read", { reason: describeError(thrown) }))
      .finally(() => {
        isSweeping = false;
      });
  };
  const timer = clock.every(sweepMs, sweep);
  return {
    operations: { approvals, clock },
    starters,
    open() {
      later.approvals = approvals;
    },
    async stop() {
      timer.cancel();
      view.stop();
      delete later.approvals;
      await publisher.stop();
    },
  };
}
