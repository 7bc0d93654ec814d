import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { SvcError } from "../../base/errors.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import type { KeyPair } from "../../identity/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import {
  decodeOperator,
  encodeOperator,
  isSignedOperator,
  type OperatorRecord,
  signOperator,
} from "../../wire/operator-record.ts";
import { adminRole } from "../../wire/operator-standing.ts";
import { request } from "../request.ts";

/** Who signs records: an operator with role admin, at the keyboard. */
export interface Signer {
  name: string;
  key: KeyPair;
}

/** A record, signed, as a request carries it. */
export function signedText(record: OperatorRecord, { key }: Signer): string {
  return encodeBase64(encodeOperator(signOperator(record, key)));
}

/** What masters know of a name. */
export interface KnownOperator {
  /** The record that is stored, with the next version; absent for a name without one. */
  record?: OperatorRecord;
  /** The key that signed it; absent where it was not signed. */
  signedBy?: string;
  nextVersion: number;
  dependents: readonly string[];
}

/**
 * Reads what is stored of an operator. An administrator of the file without a record gets its first one here.
 *
 * @throws SvcError what the masters answer
 */
export async function readKnown(bus: Bus, name: string, signer: Signer, now: number): Promise<KnownOperator> {
  const { operator, next_version, dependents } = await request(bus, operatorOperations.showOperator, {
    name,
  });
  const rest = { nextVersion: next_version, dependents };
  const bytes = operator?.record === undefined ? undefined : decodeBase64(operator.record);
  if (bytes !== undefined) {
    const stored = decodeOperator(bytes);
    const { key, signature: _, ...record } = stored;
    return {
      ...{ ...rest, record: { ...record, version: next_version } },
      ...(isSignedOperator(stored) && record.name === name ? { signedBy: key } : {}),
    };
  }
  if (operator?.administrator !== true) return rest;
  const { public_key: publicKey } = operator;
  const first = { name, publicKey, roles: [adminRole], createdAt: now, createdBy: signer.name };
  return { ...rest, record: { ...first, version: next_version } };
}

/** The same, for a name that must be there. @throws SvcError `not_found` */
export async function readExisting(
  bus: Bus,
  name: string,
  signer: Signer,
  now: number,
): Promise<KnownOperator & { record: OperatorRecord }> {
  const { record, ...known } = await readKnown(bus, name, signer, now);
  if (record !== undefined) return { ...known, record };
  throw new SvcError("not_found", `the operator ${name} does not exist: see svc operator list`);
}

/**
 * Refuses to sign what a person has not seen: an answer may come from an attacker who controls a bus server, and a record that
 * an administrator signs counts. What this administrator signed before is genuine; the rest needs a look.
 *
 * @param compared the public key that the person compared
 * @throws SvcError `conflict`
 */
export function assertSeen(
  { record, signedBy }: KnownOperator & { record: OperatorRecord },
  { key }: Signer,
  compared: string | undefined,
): void {
  const { name, publicKey, roles } = record;
  if (compared === publicKey || (compared === undefined && signedBy === key.publicKey)) return;
  throw new SvcError(
    "conflict",
    `you did not sign the record of ${name} with roles ${roles.join(", ")} and the key ${publicKey}: compare the key with ${name}, and repeat with --public-key ${publicKey}`,
  );
}

/** Says where the operator file comes from when a request waits: standard output is often a file. */
export function sayWhereFileIs(thrown: unknown, name: string, cli: Pick<Cli, "say">): unknown {
  if (thrown instanceof WaitingRequest) {
    cli.say(`${thrown.message}; when others have agreed, run svc operator renew ${name} > ${name}.operator`);
  }
  return thrown;
}

/**
 * Signs the records of operators that are valid only through the signature of one that goes.
 *
 * @param isConfirmed whether the person has seen who they are
 * @returns their names, and which of the changes wait for other operators
 * @throws SvcError `conflict` naming them with roles and keys, when the person has not
 */
export async function signAgain(
  bus: Bus,
  names: readonly string[],
  signer: Signer,
  now: number,
  isConfirmed: boolean,
): Promise<{ names: readonly string[]; waiting: readonly WaitingRequest[] }> {
  const known: OperatorRecord[] = [];
  for (const name of names) known.push((await readExisting(bus, name, signer, now)).record);
  if (known.length > 0 && !isConfirmed) {
    const shown = known.map((one) => `${one.name} (${one.roles.join(", ")}, ${one.publicKey})`).join("; ");
    throw new SvcError(
      "conflict",
      `these operators are valid only through that signature: ${shown}: compare their keys, and repeat with --sign-again, which signs them with yours`,
    );
  }
  const waiting: WaitingRequest[] = [];
  for (const record of known) {
    const { name } = record;
    try {
      await request(bus, operatorOperations.setOperatorRoles, { name, record: signedText(record, signer) });
    } catch (thrown) {
      if (!(thrown instanceof WaitingRequest)) throw thrown;
      waiting.push(thrown);
    }
  }
  return { names, waiting };
}
