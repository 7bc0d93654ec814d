import { encodePeelsAccount } from "../../../bus/accounts/mod.ts";
import { isClustered } from "../../../bus/connection/mod.ts";
import {
  createDisconnections,
  createEnforcer,
  endRefused,
  provenConnections,
} from "../../../fleet/enrollment/revocation/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";
import type { Members } from "./members.ts";
import type { SitesPart } from "./sites.ts";

interface ClaimsNeed {
  base: MasterDeps;
  connection: Connected;
  sites: SitesPart;
  members: Members;
}

/** The claims of the peels' account: which keys the bus refuses, and the connections that end with them. */
export const claims = {
  start: ({ base, connection, sites: { sites }, members }: ClaimsNeed) =>
    assemble((stack) => {
      const { keys, accountKeys, metrics, clock, log } = base;
      const { bus, system } = connection;
      const { directory, revocations, mayPrune } = members;
      const account = keys.account.publicKey;
      // What the storage captures cannot cross the link of a site by itself.
      const relayed = () => isClustered(bus) || sites.open().length > 0;
      const refused = endRefused({ system, account, revocations, clock });
      stack.defer(revocations.onEntry(refused.revoked));
      const enforcer = createEnforcer({
        ...{ ended: refused.ended, revocations, system, account, mayPrune, clock, log },
        signingKeys: () => accountKeys,
        encodeAccount: (list, issuedAt, signingKeys) =>
          encodePeelsAccount({
            ...{ account, masters: keys.mastersAccount, revocations: list, issuedAt, signingKeys },
            relayed: relayed(),
            signer: keys.operatorSigning,
          }),
      });
      stack.defer(sites.onChange(() => void enforcer.enforce().catch(() => {})));
      const reconciling = enforcer.start();
      stack.defer(() => reconciling.stop());
      const proven = provenConnections({
        ...{ system, account, directory, clock },
        hasSites: () => sites.open().length > 0,
        issuers: () => [account, ...accountKeys.publicKeys],
      });
      stack.defer(() => proven.stop());
      const disconnections = createDisconnections(proven, account, clock);
      stack.defer(() => disconnections.stop());
      return {
        ...{ account, relayed, refused, enforcer, proven, disconnections },
        /** How a decision reaches the bus. */
        enforce: { enforcer, disconnections, metrics, clock, log },
      };
    }),
};

export type Claims = OffersOf<typeof claims>;
