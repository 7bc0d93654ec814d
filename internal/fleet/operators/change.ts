import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import type { Administrator } from "../../wire/administrators.ts";
import type { OperatorRecord, SignedOperatorRecord } from "../../wire/operator-record.ts";
import { chainAbove, judgeOperator, type Standing } from "../../wire/operator-standing.ts";

/** What a request does to a record. */
export type OperatorChange = "add" | "disable" | "enable" | "roles" | "remove";

/** How far the clock of an administrator may be ahead. */
const clockSkewMs = 60_000;

/**
 * Judges a record that an administrator signed to change the registry. It knows no bus and no clock.
 *
 * @param at milliseconds since the Unix epoch
 * @throws SvcError `conflict` when the registry says otherwise, `forbidden` when no administrator who counts signed
 *   it, `bad_request` when it changes more than it may, `not_found`
 */
export function assertChange(
  standing: Standing,
  change: OperatorChange,
  record: SignedOperatorRecord,
  options: { knownRoles: readonly string[]; at: number },
): void {
  const { name } = record;
  const before = standing.find(name);
  const listed = standing.administrators.find((one) => one.name === name);
  assertVersion(standing, record, options.at);
  if (change === "add") assertNew(standing, record, before, options.at);
  else if (listed !== undefined) assertOfFile(change, record, listed, before);
  else {
    if (before === undefined)
      throw new SvcError("not_found", `the operator ${name} does not exist: see svc operator list`);
    assertSame(change, record, before);
  }
  for (const role of record.roles) {
    if (options.knownRoles.includes(role)) continue;
    const hint = suggestion(role, options.knownRoles);
    throw new SvcError("bad_request", `the role ${role} does not exist${hint}: see svc roles show`);
  }
  assertSigned(standing, record, listed, options.at);
  if (listed !== undefined && change === "disable") assertAnotherLeft(standing, name, options.at);
}

function assertVersion(standing: Standing, { name, version }: SignedOperatorRecord, at: number): void {
  const min = minVersion(standing, name, at);
  if (version >= min) return;
  throw new SvcError(
    "conflict",
    `the record of ${name} was changed meanwhile: version ${version} is signed, and ${min} is the next`,
  );
}

/** The next version of a name. What no administrator signed does not count: it could use all numbers up. */
export function minVersion(standing: Standing, name: string, at: number): number {
  const record = standing.find(name);
  const isGenuine =
    record !== undefined && standing.isSigned(record) && chainAbove(standing, record, at) !== undefined;
  return Math.max(isGenuine ? record.version : 0, standing.versionFloor(name)) + 1;
}

function assertNew(
  standing: Standing,
  record: SignedOperatorRecord,
  before: SignedOperatorRecord | undefined,
  at: number,
): void {
  const { name, publicKey, createdAt, expiresAt } = record;
  const taken =
    standing.administrators.find((one) => one.name === name || one.publicKey === publicKey)?.name ??
    standing.holdersOf(publicKey).find((one) => one.name !== name)?.name;
  if (taken !== undefined) {
    const what = taken === name ? `${name} is an administrator of the file` : `${taken} has this key`;
    throw new SvcError("conflict", `${what}: every operator has a name and a key of its own`);
  }
  if (before?.disabled === true) {
    throw new SvcError("conflict", `${name} is disabled: run svc operator enable ${name}, or remove it`);
  }
  if (before !== undefined && "operator" in judgeOperator(standing, name, before.publicKey, at)) {
    throw new SvcError("conflict", `there is an operator ${name} already: remove it first`);
  }
  if (record.disabled === true) throw new SvcError("bad_request", "a new operator cannot be disabled");
  if (createdAt > at + clockSkewMs) {
    const seconds = Math.round((createdAt - at) / 1000);
    throw new SvcError("bad_request", `the record is from ${seconds} s ahead: set the clock of your host`);
  }
  if (expiresAt !== undefined && expiresAt <= at) {
    throw new SvcError("bad_request", "the end of the operator has passed: choose a later --expires");
  }
}

/** An administrator of the file has no other record than one that disables it, or ends that. */
function assertOfFile(
  change: OperatorChange,
  record: SignedOperatorRecord,
  listed: Administrator,
  before: SignedOperatorRecord | undefined,
): void {
  const { name } = record;
  if (change === "roles" || change === "remove") {
    throw new SvcError(
      "conflict",
      `${name} is an administrator of the file: take its line out of auth/administrators of every master`,
    );
  }
  if (record.publicKey !== listed.publicKey || record.expiresAt !== undefined) {
    throw new SvcError("bad_request", `the record of ${name} changes more than whether it is disabled`);
  }
  assertToggle(change, record, before);
}

/** A change leaves everything but what it is for. */
function assertSame(
  change: Exclude<OperatorChange, "add">,
  record: SignedOperatorRecord,
  before: SignedOperatorRecord,
): void {
  const isToggled = change !== "roles";
  if (fixedOf(record, change) !== fixedOf(before, change)) {
    const what = isToggled ? "whether it is disabled" : "its roles";
    throw new SvcError("bad_request", `the record of ${record.name} changes more than ${what}`);
  }
  if (isToggled) assertToggle(change, record, before);
}

function fixedOf(record: OperatorRecord, change: Exclude<OperatorChange, "add">): string {
  const { name, publicKey, createdAt, createdBy, expiresAt, roles, disabled, released } = record;
  const changing = change === "roles" ? { disabled, released } : { roles };
  return JSON.stringify({ name, publicKey, createdAt, createdBy, ...defined({ expiresAt }), ...changing });
}

function assertToggle(
  change: OperatorChange,
  { name, disabled }: SignedOperatorRecord,
  before: SignedOperatorRecord | undefined,
): void {
  const disables = change !== "enable";
  if ((disabled === true) !== disables) {
    throw new SvcError("bad_request", `the record of ${name} is ${disables ? "not " : ""}disabled`);
  }
  if (change === "disable" && before?.disabled === true) {
    throw new SvcError("conflict", `${name} is disabled already`);
  }
  if (change === "enable" && before?.disabled !== true)
    throw new SvcError("conflict", `${name} is not disabled`);
}

function assertSigned(
  standing: Standing,
  record: SignedOperatorRecord,
  listed: Administrator | undefined,
  at: number,
): void {
  const { name } = record;
  if (!standing.isSigned(record))
    throw new SvcError("forbidden", `the record of ${name} is not signed as it is`);
  const { administrators } = standing;
  const isOwn = record.key === record.publicKey;
  const isOfFile = administrators.some(({ publicKey }) => publicKey === record.key);
  const chain = isOwn ? undefined : chainAbove(standing, record, at);
  if (chain !== undefined && (listed === undefined || isOfFile)) return;
  const who = administrators.map((one) => one.name).join(", ");
  const reason = isOwn
    ? "operators cannot sign for themselves"
    : listed === undefined
      ? "its signer is not an operator with role admin who counts now"
      : "only another administrator of the file can sign for one";
  throw new SvcError("forbidden", `the record of ${name} does not count: ${reason}; ask ${who}`);
}

function assertAnotherLeft(standing: Standing, name: string, at: number): void {
  const isLeft = standing.administrators.some(
    (one) => one.name !== name && "operator" in judgeOperator(standing, one.name, one.publicKey, at),
  );
  if (!isLeft) throw new SvcError("conflict", `${name} is the last administrator who counts`);
}
