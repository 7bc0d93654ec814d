import { encodeJwt, type KeyPair } from "../../identity/mod.ts";
import { accountLimits } from "./account-limits.ts";
import { importsOfPeels } from "./exports-imports.ts";

export interface PeelsAccount {
  /** Public key of the peels' account. */
  account: string;
  /** Public key of the masters' account, which exports what peels may use. */
  masters: string;
  /** Revoked bus users: public key to Unix seconds. JWTs of the user issued up to that time are invalid. */
  revocations: Readonly<Record<string, number>>;
  /**
   * Unix seconds. A JWT that replaces another must be newer: after a restart a server keeps the newest, but
   * it accepts an older one that is pushed.
   */
  issuedAt: number;
  /** Public keys that sign JWTs of peels in addition to the account's own key. */
  signingKeys?: readonly string[];
  /** Whether masters relay what the storage captures: on a cluster. */
  relayed?: boolean;
  /** A signing key of the operator. */
  signer: KeyPair;
}

/**
 * Encodes the JWT of the peels' account: no JetStream, no leaf nodes, and only the listed imports. Masters
 * encode it again for each revocation, so everything except that list, the signing keys and the way to the storage
 * stays the same.
 */
export function encodePeelsAccount(options: PeelsAccount): string {
  const { account, masters, revocations, issuedAt, signingKeys = [], relayed = false, signer } = options;
  const nats = {
    imports: importsOfPeels(masters, relayed),
    limits: accountLimits({ jetStream: false, leafNodes: 0 }),
    ...(signingKeys.length === 0 ? {} : { signing_keys: [...signingKeys] }),
    ...(Object.keys(revocations).length === 0 ? {} : { revocations }),
    default_permissions: { pub: {}, sub: {} },
  };
  return encodeJwt({ type: "account", name: "peels", subject: account, issuedAt, nats }, signer);
}
