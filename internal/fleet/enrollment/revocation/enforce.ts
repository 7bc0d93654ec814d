import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { createReconciler, maxPushes, type Reconciler, type SystemBus } from "../../../bus/servers/mod.ts";
import { readClaims } from "../../../identity/mod.ts";
import { subjectsOf } from "./crossing-subjects.ts";
import {
  agrees,
  type HeldClaims,
  hasSigningKeys,
  mergedRevocations,
  mergedSigningKeys,
  readHeld,
  revokedUntil,
  type SigningKeys,
  type Wanted,
} from "./held-claims.ts";
import { isLifted, type Revocation, type Revocations } from "./revocations.ts";

export interface EnforceDeps {
  revocations: Pick<Revocations, "seen" | "current" | "prune" | "onForeign">;
  system: Pick<SystemBus, "servers" | "pushClaims" | "lookupClaims" | "endConnections" | "onServerJoin">;
  /** Public key of the peels' account. */
  account: string;
  /**
   * Encodes the account's claims with these revocations (bus public key to Unix seconds).
   *
   * @param issuedAt Unix seconds
   */
  encodeAccount(
    revocations: Record<string, number>,
    issuedAt: number,
    signingKeys: readonly string[],
  ): string;
  signingKeys?(): SigningKeys;
  /** Resolves when the connections were ended that this master knows of: `false` when some may be left. */
  ended(): Promise<boolean>;
  /** Whether expired entries may be removed now: nothing is removed while the clock may be wrong. */
  mayPrune(): boolean;
  clock: Clock;
  log: Log;
}

/**
 * Creates the enforcer of one master. Several may run at once, and the bus accepts claims in any order, even
 * old ones. So after each push the enforcer compares the bus with storage, and pushes again until they agree.
 * The last master to push is also the last to compare.
 */
export function createEnforcer(deps: EnforceDeps): Reconciler {
  const { revocations, system, mayPrune, clock, log } = deps;
  const enforcing: Enforcing = { deps, lastIssuedAt: 0 };
  return createReconciler({
    run: (checkAgainSoon) => reconcile(enforcing, checkAgainSoon),
    ...{ system, clock },
    async onRun(confirmed) {
      if (!confirmed) log.warn("revocations are not confirmed by the whole bus yet");
      const pruned = mayPrune() ? await revocations.prune(clock.now()) : 0;
      if (pruned > 0) log.info("expired revocations pruned", { pruned });
    },
    onFailure: (cause) => log.warn("revocations could not be reconciled", { error: describeError(cause) }),
    onForeign: (hint) => revocations.onForeign(hint),
  });
}

interface Enforcing {
  readonly deps: EnforceDeps;
  /** Of the last claims that were pushed, Unix seconds. */
  lastIssuedAt: number;
}

const signingKeysOf = ({ signingKeys }: EnforceDeps): SigningKeys =>
  signingKeys?.() ?? { wanted: [], dropped: [] };

/** Pushes until the bus and storage agree. @returns whether they do */
async function reconcile(enforcing: Enforcing, checkAgainSoon: () => void): Promise<boolean> {
  const { deps } = enforcing;
  const { revocations, clock, log } = deps;
  let wanted: Wanted | undefined;
  // A server that becomes one of a cluster changes them.
  const imports = subjectsOf(readClaims(deps.encodeAccount({}, 0, [])), "imports");
  const allAgree = (held: readonly HeldClaims[], expected: Wanted) =>
    held.every((one) => agrees(one, expected, clock.now()));
  for (let pushed = 0; ; pushed++) {
    const { held, entries: found, complete } = await check(deps, pushed === 0 ? "start" : "push");
    let entries = found;
    const isReached = complete && held.every((one) => hasSigningKeys(one, signingKeysOf(deps)));
    if (isReached && allAgree(held, { entries, imports })) {
      // A server that was loading the account meanwhile may keep the earlier claims: the next check sees it.
      if (pushed > 0) {
        checkAgainSoon();
        return true;
      }
      // What was seen so far may lack what was stored before this master started.
      entries = await revocations.current(clock.now());
      if (allAgree(held, { entries, imports })) return true;
    }
    if (isReached && (await isInForce(deps, held, { entries, imports }))) {
      checkAgainSoon();
      return true;
    }
    wanted ??= { entries, imports };
    // Do not wait repeatedly for a server that does not answer.
    if (pushed === maxPushes || (pushed > 1 && !complete)) {
      checkAgainSoon();
      return isReached && allAgree(held, wanted);
    }
    if (!(await push(enforcing, entries, held)))
      log.warn("not every server took the revocations", { pushed });
  }
}

/** The claims of the servers, the stored revocations, and whether all servers answered. */
async function check({ revocations, system, account, clock }: EnforceDeps, after: "start" | "push") {
  const held = (await system.lookupClaims(account)).map(readHeld);
  // The first push does not wait for revocations of other masters: the comparison after it does.
  const now = clock.now();
  const entries = await (after === "push" ? revocations.current(now) : revocations.seen(now));
  return { held, entries, complete: held.length >= system.servers().total };
}

/**
 * Whether every server refuses what is stored, and has no connection of it. A server with thousands of connections
 * looks through them for a while: it refuses by the new list meanwhile, and says that it holds it afterwards.
 */
async function isInForce(deps: EnforceDeps, held: readonly HeldClaims[], wanted: Wanted): Promise<boolean> {
  const now = deps.clock.now();
  const judged = held.map((one) => ({ ...one, revoked: one.refuses }));
  if (!judged.every((one) => agrees(one, wanted, now))) return false;
  const isWatched = (key: string, entry: Revocation) =>
    !isLifted(entry, now) && held.some(({ revoked }) => (revoked.get(key) ?? 0) < revokedUntil(entry));
  const users = [...wanted.entries].filter(([key, entry]) => isWatched(key, entry)).map(([key]) => key);
  // The servers report connections before they answer how they judge: all that began before are known.
  return (await deps.ended()) && deps.system.endConnections(deps.account, users);
}

/** Pushes claims that are newer than those of every server. @returns whether every server took them */
function push(
  enforcing: Enforcing,
  entries: Wanted["entries"],
  held: readonly HeldClaims[],
): Promise<boolean> {
  const { deps, lastIssuedAt } = enforcing;
  const nowMs = deps.clock.now();
  // At its start a server keeps the newest claims, also compared with those in its configuration, which may
  // be from the same second.
  const now = Math.floor(nowMs / 1000) + 1;
  const issuedAt = Math.max(now, lastIssuedAt + 1, ...held.map((one) => one.issuedAt + 1));
  enforcing.lastIssuedAt = issuedAt;
  const list = mergedRevocations(held, entries, nowMs);
  const signing = mergedSigningKeys(held, signingKeysOf(deps));
  const jwt = deps.encodeAccount(Object.fromEntries(list), issuedAt, signing);
  const isLacking = (key: string, until: number) =>
    held.some(({ refuses }) => (refuses.get(key) ?? 0) < until);
  const lacked = [...list].filter(([key, until]) => isLacking(key, until));
  return deps.system.pushClaims(
    jwt,
    lacked.map(([key]) => key),
  );
}
