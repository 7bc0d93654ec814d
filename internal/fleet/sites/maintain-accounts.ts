import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { encodeSiteAccount, encodeSystemAccount, type SystemSites } from "../../bus/accounts/mod.ts";
import { createReconciler, type Reconciler, type SystemBus } from "../../bus/servers/mod.ts";
import { type Claims, type KeyPair, readClaims } from "../../identity/mod.ts";
import type { Sites } from "./follow.ts";

/** How often one run pushes the claims of one account. */
const maxPushes = 3;

export interface MaintainAccountsDeps {
  sites: Pick<Sites, "all" | "open" | "caughtUp" | "onChange">;
  system: Pick<SystemBus, "servers" | "pushClaims" | "lookupClaims" | "onServerJoin">;
  /** Public keys of accounts. */
  accounts: { masters: string; system: string };
  /** A signing key of the operator. */
  signer: KeyPair;
  clock: Clock;
  log: Log;
}

/** What the system account has for the sites of a fleet. */
export function systemSitesOf(sites: Pick<Sites, "all" | "open">): SystemSites {
  const former = sites
    .all()
    .flatMap(({ former, removedAt, users }) => [
      ...former.map(({ system }) => system),
      ...(removedAt === undefined ? [] : [users.system]),
    ]);
  return {
    signingKeys: sites.open().map(({ systemSigner }) => systemSigner),
    revoked: [...new Set(former)].sort(),
  };
}

/**
 * Keeps the claims of the accounts of sites on the bus: each site has its account as long as it is there, and the
 * system account takes the users of these sites and of no other one. All masters do it, and push the same.
 */
export function maintainSiteAccounts(deps: MaintainAccountsDeps): Reconciler {
  const { sites, system, accounts, signer, clock, log } = deps;

  /** Pushes claims until every server that answers has such. */
  const maintain = async (
    account: string,
    isWanted: (claims: Claims) => boolean,
    encode: (issuedAt: number) => string,
  ): Promise<boolean> => {
    for (let pushed = 0; ; pushed++) {
      const held = (await system.lookupClaims(account)).map(({ jwt }) =>
        jwt === "" ? undefined : readClaims(jwt),
      );
      const isComplete = held.length >= system.servers().total;
      if (held.length > 0 && held.every((claims) => claims !== undefined && isWanted(claims))) {
        return isComplete;
      }
      if (pushed === maxPushes) return false;
      const newest = Math.max(0, ...held.map((claims) => claims?.iat ?? 0));
      await system.pushClaims(encode(Math.max(Math.floor(clock.now() / 1000), newest + 1)));
    }
  };
  const maintainSite = (name: string, account: string, isClosed: boolean) =>
    maintain(
      account,
      ({ nats }) => (nats.revocations !== undefined) === isClosed && isSameAs(nats, name),
      (issuedAt) => encodeAs(name, account, { isClosed, issuedAt }),
    );
  const encodeAs = (name: string, account: string, as: { isClosed: boolean; issuedAt: number }) =>
    encodeSiteAccount({ name, account, masters: accounts.masters, ...as }, signer);
  const isSameAs = (nats: Claims["nats"], name: string): boolean => {
    const isClosed = nats.revocations !== undefined;
    const jwt = encodeAs(name, accounts.masters, { isClosed, issuedAt: 0 });
    return Bun.deepEquals(nats.imports, readClaims(jwt).nats.imports);
  };
  const maintainSystem = () => {
    const wanted = systemSitesOf(sites);
    return maintain(
      accounts.system,
      ({ nats }) => {
        const listed = Array.isArray(nats.signing_keys) ? nats.signing_keys : [];
        const revoked = Object.keys((nats.revocations ?? {}) as object);
        const ofOthers = sites.all().map(({ systemSigner }) => systemSigner);
        const isListed = (key: string) => listed.includes(key);
        return (
          wanted.signingKeys.every(isListed) &&
          !ofOthers.some((key) => isListed(key) && !wanted.signingKeys.includes(key)) &&
          wanted.revoked.every((user) => revoked.includes(user))
        );
      },
      (issuedAt) => encodeSystemAccount(accounts.system, issuedAt, signer, wanted),
    );
  };
  const run = async (checkAgainSoon: () => void): Promise<boolean> => {
    await sites.caughtUp();
    const known = sites.all();
    if (known.length === 0) return true;
    let confirmed = await maintainSystem();
    for (const { name, account, removedAt, former } of known) {
      confirmed = (await maintainSite(name, account, removedAt !== undefined)) && confirmed;
      for (const one of former) confirmed = (await maintainSite(name, one.account, true)) && confirmed;
    }
    if (!confirmed) checkAgainSoon();
    return confirmed;
  };
  return createReconciler({
    ...{ run, system, clock },
    async onRun(confirmed) {
      if (!confirmed) log.warn("the accounts of sites are not confirmed by the whole bus yet");
    },
    onFailure: (cause) =>
      log.warn("the accounts of sites could not be kept", { reason: describeError(cause) }),
    onForeign: sites.onChange,
  });
}
