import { encodeJwt, type KeyPair } from "../../identity/mod.ts";
import { accountLimits } from "./account-limits.ts";
import { exportsOfMasters } from "./exports-imports.ts";
import { operatorScope } from "./operator-users.ts";

/**
 * Encodes the JWT of the operator, which a bus server trusts. A signing key signs the accounts, so that
 * the operator's own key can stay offline.
 *
 * @param issuedAt Unix seconds
 */
export function encodeOperator(
  {
    operator,
    signingKey,
    systemAccount,
    name,
  }: Record<"signingKey" | "systemAccount" | "name", string> & {
    operator: KeyPair;
  },
  issuedAt: number,
): string {
  const nats = { signing_keys: [signingKey], system_account: systemAccount };
  return encodeJwt({ type: "operator", name, subject: operator.publicKey, issuedAt, nats }, operator);
}

/**
 * Encodes the JWT of the masters' account: it owns all storage, and exports what peels may use.
 *
 * @param issuedAt Unix seconds
 * @param signer a signing key of the operator
 * @param operatorsKey public key that signs the JWTs of persons
 */
export function encodeMastersAccount(
  account: string,
  issuedAt: number,
  signer: KeyPair,
  operatorsKey: string,
): string {
  const nats = {
    exports: exportsOfMasters(),
    signing_keys: [operatorScope(operatorsKey)],
    limits: accountLimits({ jetStream: true, leafNodes: leafNodesOfMasters }),
    default_permissions: { pub: {}, sub: {} },
  };
  return encodeJwt({ type: "account", name: "masters", subject: account, issuedAt, nats }, signer);
}

/**
 * The server of a site attaches its own end of the link to the masters' account, and the limit counts that end too. No
 * user of this account may connect as a leaf node: their JWTs name the connection type.
 */
const leafNodesOfMasters = 1;

/** How often the server of a site may be linked to each account: a link that broke may not have been noticed yet. */
export const linksOfSite = 4;

/** What the sites need of the system account. */
export interface SystemSites {
  /** Public keys, one for each site; nobody has the secret half any more. */
  signingKeys: readonly string[];
  /** Public keys of users of sites that were removed. */
  revoked: readonly string[];
}

const noSites: SystemSites = { signingKeys: [], revoked: [] };

/**
 * Encodes the JWT of the system account, which accepts new claims and reports about servers.
 *
 * @param issuedAt Unix seconds
 * @param signer a signing key of the operator
 * @param signingKeys public keys that sign JWTs of its users for a moment, in addition to its own key and those of sites
 */
export function encodeSystemAccount(
  account: string,
  issuedAt: number,
  signer: KeyPair,
  sites: SystemSites = noSites,
  signingKeys: readonly string[] = [],
): string {
  const signing = [...sites.signingKeys, ...signingKeys].sort();
  const nats = {
    limits: accountLimits({ jetStream: false, leafNodes: sites.signingKeys.length * linksOfSite }),
    ...(signing.length === 0 ? {} : { signing_keys: signing }),
    ...(sites.revoked.length === 0
      ? {}
      : { revocations: Object.fromEntries(sites.revoked.map((user) => [user, issuedAt])) }),
    default_permissions: { pub: {}, sub: {} },
  };
  return encodeJwt({ type: "account", name: "system", subject: account, issuedAt, nats }, signer);
}
