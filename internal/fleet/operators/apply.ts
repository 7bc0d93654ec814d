import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Reconciler } from "../../bus/servers/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { encodeOperator, lastRecordKey, type SignedOperatorRecord } from "../../wire/operator-record.ts";
import { adminRole } from "../../wire/operator-standing.ts";
import { assertChange, type OperatorChange } from "./change.ts";
import type { Registry } from "./registry.ts";
import type { OperatorRevocations } from "./revocations.ts";

/** Reports when the connections of a bus user end. */
export interface Disconnections {
  watch(publicKey: string): { closed(): Promise<number | undefined>; stop(): void };
}

export interface ApplyDeps {
  registry: Pick<Registry, "find" | "standing" | "caughtUp" | "dependents" | "noteVersion">;
  bucket: Pick<Bucket, "get" | "create" | "update" | "remove">;
  revocations: Pick<OperatorRevocations, "add" | "lift">;
  reconciler: Pick<Reconciler, "enforce">;
  disconnections: Disconnections;
  knownRoles(): readonly string[];
  /** Names of the scopes that roles have. */
  scopesOf(roles: readonly string[]): readonly string[];
  clock: Pick<Clock, "now" | "monotonic">;
  log: Log;
}

export interface Applied {
  /** Milliseconds from the call to the end of the last live connection; absent when there was none. */
  closedInMs?: number;
}

/**
 * Verifies a signed record, stores it, and makes the bus agree: an operator who may do less is disconnected. The
 * revocation is written before the record: after a crash between the two it is enforced, and the request can be
 * repeated.
 *
 * @throws SvcError as `assertChange`; `conflict` when others depend on the signature of the operator that goes;
 * `unavailable` when   it is stored, but the bus did not confirm in time: masters continue to enforce it
 */
export async function applyChange(
  deps: ApplyDeps,
  change: OperatorChange,
  record: SignedOperatorRecord,
): Promise<Applied> {
  const { registry, revocations, clock } = deps;
  const started = clock.monotonic();
  await registry.caughtUp();
  const at = clock.now();
  assertChange(registry.standing, change, record, { knownRoles: deps.knownRoles(), at });
  const before = registry.find(record.name);
  const loses = change === "disable" || change === "remove" || narrows(deps, before, record);
  assertNoDependents(deps, change, record, at);
  const watched = deps.disconnections.watch(record.publicKey);
  try {
    if (loses) await revocations.add(record, at);
    const revision = await store(deps, record);
    registry.noteVersion(record);
    if (change === "remove") {
      // What it released stays, also when another operator takes the name.
      await store(deps, record, lastRecordKey(record));
      await deps.bucket.remove(record.name, revision);
    }
    await registry.caughtUp();
    const lifted =
      (change === "enable" || change === "add") && (await revocations.lift(record.publicKey, at));
    if (!loses && !lifted) return {};
    await enforce(deps, change, record.name);
    if (!loses) return {};
    const closedAt = await watched.closed();
    return defined({ closedInMs: closedAt === undefined ? undefined : Math.max(0, closedAt - started) });
  } finally {
    watched.stop();
  }
}

/** Whether an operator may do less than before: then what it connected with says too much. */
function narrows(
  { scopesOf }: ApplyDeps,
  before: SignedOperatorRecord | undefined,
  { roles }: SignedOperatorRecord,
): boolean {
  if (before === undefined) return false;
  const now = new Set(scopesOf(roles));
  return scopesOf(before.roles).some((scope) => !now.has(scope));
}

/** @throws SvcError `conflict` naming those that would no longer be valid */
function assertNoDependents(
  { registry }: ApplyDeps,
  change: OperatorChange,
  { name, roles }: SignedOperatorRecord,
  at: number,
): void {
  const before = registry.find(name);
  const resigns =
    change === "roles" && (before?.roles.includes(adminRole) !== true || roles.includes(adminRole));
  if (change === "add" || change === "enable" || resigns) return;
  const dependents = registry.dependents(name, at);
  if (dependents.length === 0) return;
  const shown = dependents.slice(0, 5).join(", ") + (dependents.length > 5 ? ", …" : "");
  const count = dependents.length === 1 ? "1 operator is valid" : `${dependents.length} operators are valid`;
  throw new SvcError(
    "conflict",
    `${count} only through the signature of ${name}: ${shown}: sign them again first, as svc operator does`,
  );
}

async function store(
  { bucket }: ApplyDeps,
  record: SignedOperatorRecord,
  key = record.name,
): Promise<number> {
  const value = encodeOperator(record);
  const existing = await bucket.get(key);
  const revision =
    existing === undefined
      ? await bucket.create(key, value)
      : await bucket.update(key, value, existing.revision);
  if (revision === undefined) {
    throw new SvcError("conflict", `the record of ${record.name} is being changed by others: try again`);
  }
  return revision;
}

async function enforce({ reconciler, log }: ApplyDeps, change: OperatorChange, name: string): Promise<void> {
  let confirmed = false;
  try {
    confirmed = await reconciler.enforce();
  } catch (cause) {
    log.error("revocation of an operator not confirmed", { operator: name, error: describeError(cause) });
  }
  if (confirmed) return;
  throw new SvcError(
    "unavailable",
    `${change} of ${name} is stored, but the bus did not confirm in time: masters continue`,
  );
}
