import { abortable } from "../../../base/abortable.ts";
import { maintainExports } from "../../../fleet/enrollment/revocation/mod.ts";
import { followSites, maintainSiteAccounts, watchLinks } from "../../../fleet/sites/mod.ts";
import { parseCredentials, readClaims } from "../../../identity/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { followOtherMasters } from "../../keys/mod.ts";
import type { MasterDeps } from "../options.ts";
import { catchUp } from "./catch-up.ts";
import type { Connected } from "./connect.ts";
import type { Opened } from "./storage.ts";

/** The sites: their records, their accounts on the bus, and their links. */
export const sites = {
  start: ({ base, connection, opened }: { base: MasterDeps; connection: Connected; opened: Opened }) =>
    assemble(async (stack) => {
      const { name, keys, clock, log, signal } = base;
      const { storage, recordMac } = opened;
      const { system } = connection;
      const sites = followSites({ bucket: storage.sites, mac: recordMac, log });
      stack.defer(() => sites.stop());
      await catchUp("sites", sites.ready, base);
      const others = followOtherMasters({ heartbeats: storage.masterHeartbeats, name, clock });
      stack.defer(() => others.stop());
      await abortable(others.ready, signal);
      // Before the imports of the accounts of sites and of the peels' account, which others keep.
      const exported = maintainExports({
        ...{ system, account: keys.mastersAccount, signer: keys.operatorSigning, clock, log },
      });
      stack.defer(() => exported.stop());
      await abortable(exported.ready, signal);
      const siteAccounts = {
        peels: keys.account.publicKey,
        masters: keys.mastersAccount,
        system: readClaims(parseCredentials(keys.systemCredentials).jwt).iss,
      };
      const signer = keys.operatorSigning;
      const siteReconciler = maintainSiteAccounts({
        ...{ sites, system, accounts: siteAccounts, signer, clock, log },
      });
      const reconciling = siteReconciler.start();
      stack.defer(() => reconciling.stop());
      const siteLinks = watchLinks({ sites, system, systemAccount: siteAccounts.system, clock, log });
      stack.defer(() => siteLinks.stop());
      return { others, sites, siteAccounts, siteReconciler, siteLinks, checks: { sites: siteLinks.check } };
    }),
};

export type SitesPart = OffersOf<typeof sites>;
