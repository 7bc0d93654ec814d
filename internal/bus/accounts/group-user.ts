import type { Random } from "../../base/id.ts";
import { encodeJwt, formatCredentials, type KeyPair, newKeyPair } from "../../identity/mod.ts";
import { encodeSystemAccount, type SystemSites } from "./operator.ts";

/** How long the credentials are good for, seconds. */
const validitySeconds = 60;

/** A user of the system account that may do one thing, for a moment. */
export interface GroupUser {
  /** Secret. */
  credentials: string;
  /** The JWT of the account while the user is needed, and after that: servers take only newer ones. */
  opened: string;
  closed: string;
}

/**
 * Makes a user that may remove a server from the JetStream group. The key of the system account does not exist any
 * more, and `system.creds` of masters may not do this: the operator's signing key lets a new key sign for the account,
 * which nobody stores. So a master that is broken into later has no such credentials, and those who hold the signing
 * key could do the same.
 *
 * @param account public key of the system account
 * @param issuedAt Unix seconds
 * @param sites what the account has for sites, and keeps
 * @param signer a signing key of the operator
 */
export function newGroupUser(
  account: string,
  issuedAt: number,
  { sites, signer, random }: { sites: SystemSites; signer: KeyPair; random: Random },
): GroupUser {
  const [key, user] = [newKeyPair("account", random), newKeyPair("user", random)];
  const nats = {
    pub: { allow: ["$JS.API.SERVER.REMOVE"] },
    sub: { allow: ["_INBOX.>"] },
    subs: -1,
    data: -1,
    payload: -1,
    allowed_connection_types: ["STANDARD"],
  };
  const times = { issuedAt, expiresAt: issuedAt + validitySeconds };
  const jwt = encodeJwt(
    { type: "user", name: "group", subject: user.publicKey, ...times, nats },
    { ...key, issuerAccount: account },
  );
  return {
    credentials: formatCredentials(jwt, user.seed),
    opened: encodeSystemAccount(account, issuedAt, signer, sites, [key.publicKey]),
    closed: encodeSystemAccount(account, issuedAt + 1, signer, sites),
  };
}
