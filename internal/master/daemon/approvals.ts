import { describeError } from "../../base/errors.ts";
import {
  type ApprovalDeps,
  type Approvals,
  createApprovals,
  createStarters,
  followApprovals,
  type Party,
  type Starters,
} from "../../fleet/approvals/mod.ts";
import { tellApprovals } from "../../fleet/events/mod.ts";
import type { MasterSignIn } from "../sign-in/mod.ts";
import type { MasterDeps } from "./options.ts";
import type { Connected } from "./parts/connect.ts";
import type { Gated } from "./parts/gate.ts";
import type { Requests } from "./parts/requests.ts";
import type { Stored } from "./parts/storage.ts";

/** Half of the time after which a master that starts a request counts as killed. */
const sweepMs = 7_500;

/** Requests that wait for other operators, on a master. */
export interface MasterApprovals {
  operations: ApprovalDeps;
  starters: Starters;
  /** From here on requests wait instead of being refused: everything that can be started is known. */
  open(): void;
  stop(): Promise<void>;
}

export function startApprovals(
  deps: MasterDeps & Connected & Stored & Gated & Requests & { signIn: Pick<MasterSignIn, "rolesNow"> },
): MasterApprovals {
  const { bus, config, storage, recordMac, gate, roleGate, waiting, signIn, clock, random, log } = deps;
  const starters = createStarters();
  const bucket = storage.approvals;
  const teller = tellApprovals({ bus, clock, log });
  const view = followApprovals({ bucket, mac: recordMac, teller, clock, log });
  const approvals: Approvals = createApprovals({
    ...{ bucket, view, mac: recordMac, starters, gate, roleGate },
    rolesNow: ({ name, key, bearer, roles }: Party) => {
      if (key !== undefined) return deps.rolesOfSigner(name, key);
      // Its roles are in a token that nobody keeps.
      if (bearer === undefined || bearer === "oidc") return { roles };
      const now = signIn.rolesNow(name, bearer);
      return now === undefined ? { refused: "the token has ended" } : { roles: now };
    },
    administrators: deps.administrators,
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
      waiting.approvals = approvals;
    },
    async stop() {
      timer.cancel();
      view.stop();
      delete waiting.approvals;
      await teller.stop();
    },
  };
}
