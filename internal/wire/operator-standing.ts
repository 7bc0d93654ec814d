import { rfc3339 } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import type { Administrator } from "./administrators.ts";
import type { SignedOperatorRecord } from "./operator-record.ts";

/** The role whose operators sign records of others. */
export const adminRole = "admin";

/** How many signatures lie between an operator and the file of administrators, that of its key included. */
const maxSignatures = 4;

/** An operator that is valid now. */
export interface Operator {
  name: string;
  /** `U…` */
  publicKey: string;
  roles: readonly string[];
  /** Milliseconds since the Unix epoch. */
  expiresAt?: number;
}

/** What is known of operators at one time. */
export interface Standing {
  administrators: readonly Administrator[];
  /** The record of this name. */
  find(name: string): SignedOperatorRecord | undefined;
  /** The last record of an operator who was removed, also when another operator has the name now. */
  removed(name: string, publicKey: string): SignedOperatorRecord | undefined;
  /** The records with this public key. */
  holdersOf(publicKey: string): readonly SignedOperatorRecord[];
  /** The least version of this name that may count; 0 when nothing was seen of it. */
  versionFloor(name: string): number;
  /** Whether the key that a record names signed it: `isSignedOperator`, or what is remembered of it. */
  isSigned(record: SignedOperatorRecord): boolean;
}

export type Judgement = { operator: Operator } | { refused: string };

/**
 * Whether an operator may act with a key at a time. Everything is judged as it stands now: what an administrator
 * signed is valid only while the administrator is.
 *
 * @param at milliseconds since the Unix epoch
 * @returns the operator with its roles, or one line that says why it is refused and who can help
 */
export function judgeOperator(standing: Standing, name: string, key: string, at: number): Judgement {
  const listed = standing.administrators.find((one) => one.name === name);
  if (listed !== undefined) return judgeAdministrator(standing, listed, key);
  const record = standing.find(name);
  if (record === undefined) {
    const removed = standing.versionFloor(name) > 0;
    const what = removed ? `the operator ${name} was removed` : `the operator ${name} does not exist`;
    return { refused: `${what}: an operator with role admin adds one with svc operator add` };
  }
  if (record.publicKey !== key) {
    return { refused: `${name} has another key: log in with the newest operator file of ${name}` };
  }
  const reason = refusalOf(standing, record, at) ?? brokenChain(standing, record, at);
  if (reason !== undefined) return { refused: reason };
  const { publicKey, roles, expiresAt } = record;
  return { operator: { name, publicKey, roles, ...defined({ expiresAt }) } };
}

/**
 * The record that disabled an operator, who may have been removed: it says up to which versions releases stay. It does
 * not show that its signer is valid.
 *
 * @returns `undefined` for an operator who is not disabled
 */
export function lastRecordOf(
  standing: Standing,
  name: string,
  publicKey: string,
): SignedOperatorRecord | undefined {
  const stored = standing.find(name);
  const own = stored?.publicKey === publicKey ? stored : undefined;
  const removed = standing.removed(name, publicKey);
  // An operator who was added again with the same key has a greater version.
  const last = (own?.version ?? 0) > (removed?.version ?? 0) ? own : (removed ?? own);
  return last?.disabled === true && standing.isSigned(last) ? last : undefined;
}

function judgeAdministrator(standing: Standing, listed: Administrator, key: string): Judgement {
  const { name, publicKey } = listed;
  if (publicKey !== key) {
    return { refused: `${name} has another key in the file of administrators: log in with that one` };
  }
  if (isDisabledAdministrator(standing, listed)) {
    return { refused: `the administrator ${name} is disabled: another one runs svc operator enable ${name}` };
  }
  return { operator: { name, publicKey, roles: [adminRole] } };
}

/**
 * Whether an administrator of the file is disabled, which another key of the file says. Disabling counts even where
 * that key is disabled itself: otherwise two of them could undo each other, and the answer would depend on where one
 * begins. Enabling needs a key that counts. Where a record was, one that is gone, older or forged undoes nothing.
 *
 * @param requested names whose state is being looked for
 */
function isDisabledAdministrator(
  standing: Standing,
  { name, publicKey }: Administrator,
  requested: ReadonlySet<string> = new Set(),
): boolean {
  const floor = standing.versionFloor(name);
  const record = standing.find(name);
  if (record === undefined || record.version < floor || record.publicKey !== publicKey) return floor > 0;
  const signer = standing.administrators.find((one) => one.publicKey === record.key && one.name !== name);
  if (signer === undefined || !standing.isSigned(record)) return floor > 0;
  if (record.disabled === true) return true;
  const known = new Set(requested).add(name);
  return known.has(signer.name) || isDisabledAdministrator(standing, signer, known);
}

/** Why a record does not count, its chain apart. */
function refusalOf(standing: Standing, record: SignedOperatorRecord, at: number): string | undefined {
  const { name, version, expiresAt } = record;
  const floor = standing.versionFloor(name);
  if (version < floor) {
    return `the record of ${name} on the bus has version ${version}, and version ${floor} was there: someone put an old one back`;
  }
  if (!standing.isSigned(record)) return `the record of ${name} is not signed as it is stored`;
  if (record.disabled === true) {
    return `${name} is disabled: an operator with role admin runs svc operator enable ${name}`;
  }
  if (expiresAt !== undefined && expiresAt <= at) {
    return `${name} ended at ${rfc3339(expiresAt)}: an operator with role admin adds it again`;
  }
  return undefined;
}

/** Looks upward, one signature after the other, for a key of the file. */
function brokenChain(standing: Standing, record: SignedOperatorRecord, at: number): string | undefined {
  return chainAbove(standing, record, at) === undefined
    ? `the record of ${record.name} is not signed by an administrator who counts now: one of them signs it again`
    : undefined;
}

/**
 * The records from an operator up to the one that a key of the file signed, this one included.
 *
 * @returns `undefined` when no chain of at most 4 signatures ends in the file
 */
export function chainAbove(
  standing: Standing,
  record: SignedOperatorRecord,
  at: number,
): readonly SignedOperatorRecord[] | undefined {
  const seen = new Set([record.name]);
  let paths: (readonly SignedOperatorRecord[])[] = [[record]];
  for (let signatures = 1; signatures <= maxSignatures; signatures++) {
    const longer: (readonly SignedOperatorRecord[])[] = [];
    for (const path of paths) {
      const signer = path.at(-1)?.key ?? "";
      const listed = standing.administrators.find(({ publicKey }) => publicKey === signer);
      if (listed !== undefined) {
        if (!isDisabledAdministrator(standing, listed)) return path;
        continue;
      }
      for (const next of standing.holdersOf(signer)) {
        if (seen.has(next.name) || !isAdmin(standing, next, at)) continue;
        seen.add(next.name);
        longer.push([...path, next]);
      }
    }
    paths = longer;
  }
  return undefined;
}

/** Whether the holder of a record may sign others, as far as the record itself says. */
function isAdmin(standing: Standing, record: SignedOperatorRecord, at: number): boolean {
  // A name of the file belongs to the key of the file.
  if (standing.administrators.some(({ name }) => name === record.name)) return false;
  return record.roles.includes(adminRole) && refusalOf(standing, record, at) === undefined;
}
