import { encodeJwt } from "../../identity/jwt.ts";
import type { KeyPair } from "../../identity/nkey.ts";
import { accountLimits } from "./account-limits.ts";
import { wallImports } from "./exports-imports.ts";

export interface PeelsAccount {
  /** Public key of the peels' account. */
  account: string;
  /** Public key of the masters' account, which exports what peels may use. */
  masters: string;
  /** Revoked bus users: public key to Unix seconds; JWTs of that user issued until then do not count. */
  revocations: Readonly<Record<string, number>>;
  /**
   * Unix seconds. Every JWT that replaces another must be newer: a server keeps the newest after a
   * restart, and takes an older one when it is pushed.
   */
  issuedAt: number;
  /** A signing key of the operator. */
  signer: KeyPair;
}

/**
 * Encodes the JWT of the peels' account: no JetStream, no leaf nodes, and only what crosses the wall.
 * Masters make it again with each revocation, so everything but the list stays the same.
 */
export function encodePeelsAccount(options: PeelsAccount): string {
  const { account, masters, revocations, issuedAt, signer } = options;
  const nats = {
    imports: wallImports(masters),
    limits: accountLimits({ jetStream: false, leafNodes: 0 }),
    ...(Object.keys(revocations).length === 0 ? {} : { revocations }),
    default_permissions: { pub: {}, sub: {} },
  };
  return encodeJwt({ type: "account", name: "peels", subject: account, issuedAt, nats }, signer);
}
