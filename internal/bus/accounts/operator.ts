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
    limits: accountLimits({ jetStream: true, leafNodes: 0 }),
    default_permissions: { pub: {}, sub: {} },
  };
  return encodeJwt({ type: "account", name: "masters", subject: account, issuedAt, nats }, signer);
}

/**
 * Encodes the JWT of the system account, which accepts new claims and reports about servers.
 *
 * @param issuedAt Unix seconds
 * @param signer a signing key of the operator
 * @param signingKeys public keys that sign JWTs of its users in addition to its own key
 */
export function encodeSystemAccount(
  account: string,
  issuedAt: number,
  signer: KeyPair,
  signingKeys: readonly string[] = [],
): string {
  const nats = {
    limits: accountLimits({ jetStream: false, leafNodes: 0 }),
    ...(signingKeys.length === 0 ? {} : { signing_keys: [...signingKeys] }),
    default_permissions: { pub: {}, sub: {} },
  };
  return encodeJwt({ type: "account", name: "system", subject: account, issuedAt, nats }, signer);
}
