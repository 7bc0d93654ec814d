import type { Random } from "../../base/id.ts";
import { type AccountSigner, encodeJwt, type KeyPair, newKeyPair } from "../../identity/mod.ts";
import { accountLimits } from "./account-limits.ts";
import { importsOfSite } from "./exports-imports.ts";
import { linksOfSite } from "./operator.ts";

// The server of a site is linked to the bus of the masters twice. The first link is a user of an account of this site
// alone, which has no more than what peels may send and receive: whatever the server of a site does, it is a peels'
// bus. The second one is a user of the system account that learns new claims, so that a revocation counts at the
// site too.

/** What the first link may do: all that its account has, which is little. */
const ofLink = { pub: {}, sub: {} };

/**
 * What the second link may do: learn the claims of accounts, and report connections of peels. It cannot send claims, and
 * cannot answer what masters ask the servers of the bus.
 *
 * @param peels public key of the peels' account
 */
const ofSystemLink = (peels: string) => ({
  pub: {
    allow: ["$SYS.REQ.CLAIMS.PACK", `$SYS.ACCOUNT.${peels}.CONNECT`, `$SYS.ACCOUNT.${peels}.DISCONNECT`],
  },
  sub: { allow: ["$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.*.CLAIMS.UPDATE", "$SYS._INBOX.>"] },
});

export interface SiteOptions {
  name: string;
  /** Public keys with which the server of the site connects, to the account of the site and to the system account. */
  users: { link: string; system: string };
  /** Public keys of accounts. */
  accounts: { peels: string; system: string };
  /** Unix seconds. */
  issuedAt: number;
  random: Random;
}

/** The keys of a site, and the JWTs of its users. It contains no secrets. */
export interface SiteKeys {
  /** Public key of the account of the site. */
  account: string;
  /** Public key that signed the user of the system account; it counts as long as the site does. */
  systemSigner: string;
  jwts: { link: string; system: string };
}

/**
 * Makes the account of a site, and signs its two users. The keys that sign are forgotten: nobody can make another user
 * for the site, and the account itself is signed by the operator.
 */
export function newSite({ name, users, accounts, issuedAt, random }: SiteOptions): SiteKeys {
  const [account, system] = [newKeyPair("account", random), newKeyPair("account", random)];
  const user = (subject: string, permissions: object, signer: KeyPair | AccountSigner) =>
    encodeJwt(
      {
        type: "user",
        name: `site ${name}`,
        subject,
        issuedAt,
        nats: { ...permissions, subs: -1, data: -1, payload: -1, allowed_connection_types: ["LEAFNODE"] },
      },
      signer,
    );
  return {
    account: account.publicKey,
    systemSigner: system.publicKey,
    jwts: {
      link: user(users.link, ofLink, account),
      system: user(users.system, ofSystemLink(accounts.peels), {
        ...system,
        issuerAccount: accounts.system,
      }),
    },
  };
}

export interface SiteAccount {
  name: string;
  account: string;
  /** Public key of the masters' account. */
  masters: string;
  /** Whether the site was removed: then the account has nothing, and its users are refused. */
  isClosed: boolean;
  /** Unix seconds. */
  issuedAt: number;
}

/** Encodes the JWT of the account of a site. @param signer a signing key of the operator */
export function encodeSiteAccount(
  { name, account, masters, isClosed, issuedAt }: SiteAccount,
  signer: KeyPair,
): string {
  const nats = {
    ...(isClosed ? { revocations: { "*": issuedAt } } : { imports: importsOfSite(masters, name) }),
    limits: accountLimits({ jetStream: false, leafNodes: isClosed ? 0 : linksOfSite }),
    default_permissions: { pub: {}, sub: {} },
  };
  return encodeJwt({ type: "account", name: `site ${name}`, subject: account, issuedAt, nats }, signer);
}
