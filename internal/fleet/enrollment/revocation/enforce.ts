import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import {
  createReconciler,
  type HeldClaims as HeldJwt,
  maxPushes,
  type Reconciler,
  type SystemBus,
} from "../../../bus/servers/mod.ts";
import { readClaims } from "../../../identity/mod.ts";
import { subjectsOf } from "./crossing-subjects.ts";
import { isLifted, isOver, type Revocation, type Revocations } from "./revocations.ts";

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
  /** Signing keys of the account: those that must count on the bus, and those that were dropped. */
  signingKeys?(): { wanted: readonly string[]; dropped: readonly string[] };
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
  const { revocations, system, account, mayPrune, clock, log } = deps;
  // A server that becomes one of a cluster changes them.
  const importsNow = () => subjectsOf(readClaims(deps.encodeAccount({}, 0, [])), "imports");
  const signingKeys = deps.signingKeys ?? (() => ({ wanted: [], dropped: [] }));
  let lastIssuedAt = 0;

  const push = (entries: ReadonlyMap<string, Revocation>, held: readonly HeldClaims[]) => {
    // At its start a server keeps the newest claims, also compared with those in its configuration, which may
    // be from the same second.
    const now = Math.floor(clock.now() / 1000) + 1;
    lastIssuedAt = Math.max(now, lastIssuedAt + 1, ...held.map(({ issuedAt }) => issuedAt + 1));
    const list = new Map<string, number>();
    // Revocations on the bus stay, so that a master that has not seen everything does not undo any.
    for (const { revoked } of held) {
      for (const [key, until] of revoked) if (!isOver(until * 1000, clock.now())) list.set(key, until);
    }
    for (const [key, entry] of entries) {
      if (isLifted(entry, clock.now())) list.delete(key);
      else list.set(key, revokedUntil(entry));
    }
    // Signing keys on the bus stay for the same reason, until a master knows that they were dropped.
    const { wanted, dropped } = signingKeys();
    const signing = new Set([...held.flatMap((one) => one.signingKeys), ...wanted]);
    for (const key of dropped) signing.delete(key);
    const jwt = deps.encodeAccount(Object.fromEntries(list), lastIssuedAt, [...signing].sort());
    const lacked = [...list].filter(([key, until]) =>
      held.some(({ refuses }) => (refuses.get(key) ?? 0) < until),
    );
    return system.pushClaims(
      jwt,
      lacked.map(([key]) => key),
    );
  };
  /**
   * Whether every server refuses what is stored, and has no connection of it. A server with thousands of connections
   * looks through them for a while: it refuses by the new list meanwhile, and says that it holds it afterwards.
   */
  const isInForce = async (held: readonly HeldClaims[], wanted: Wanted): Promise<boolean> => {
    const judged = held.map((one) => ({ ...one, revoked: one.refuses }));
    if (!judged.every((one) => agrees(one, wanted, clock.now()))) return false;
    const isWatched = (key: string, entry: Revocation) =>
      !isLifted(entry, clock.now()) &&
      held.some(({ revoked }) => (revoked.get(key) ?? 0) < revokedUntil(entry));
    const users = [...wanted.entries].filter(([key, entry]) => isWatched(key, entry)).map(([key]) => key);
    // The servers report connections before they answer how they judge: all that began before are known.
    return (await deps.ended()) && system.endConnections(account, users);
  };
  /** The claims of the servers, the stored revocations, and whether all servers answered. */
  const check = async (after: "start" | "push") => {
    const held = (await system.lookupClaims(account)).map(readHeld);
    // The first push does not wait for revocations of other masters: the comparison after it does.
    const now = clock.now();
    const entries = await (after === "push" ? revocations.current(now) : revocations.seen(now));
    return { held, entries, complete: held.length >= system.servers().total };
  };

  const run = async (checkAgainSoon: () => void): Promise<boolean> => {
    let wanted: ReadonlyMap<string, Revocation> | undefined;
    const imports = importsNow();
    for (let pushed = 0; ; pushed++) {
      const { held, entries: found, complete } = await check(pushed === 0 ? "start" : "push");
      let entries = found;
      const keysAgree = held.every((one) => hasSigningKeys(one, signingKeys()));
      const allAgree = () => held.every((one) => agrees(one, { entries, imports }, clock.now()));
      if (complete && keysAgree && allAgree()) {
        // A server that was loading the account meanwhile may keep the earlier claims: the next look sees it.
        if (pushed > 0) {
          checkAgainSoon();
          return true;
        }
        // What was seen so far may lack what was stored before this master started.
        entries = await revocations.current(clock.now());
        if (allAgree()) return true;
      }
      if (complete && keysAgree && (await isInForce(held, { entries, imports }))) {
        checkAgainSoon();
        return true;
      }
      wanted ??= entries;
      // Do not wait repeatedly for a server that does not answer.
      if (pushed === maxPushes || (pushed > 1 && !complete)) {
        checkAgainSoon();
        const expected = wanted;
        const agreed = held.every((one) => agrees(one, { entries: expected, imports }, clock.now()));
        return complete && keysAgree && agreed;
      }
      if (!(await push(entries, held))) log.warn("not every server took the revocations", { pushed });
    }
  };
  return createReconciler({
    ...{ run, system, clock },
    async onRun(confirmed) {
      if (!confirmed) log.warn("revocations are not confirmed by the whole bus yet");
      const pruned = mayPrune() ? await revocations.prune(clock.now()) : 0;
      if (pruned > 0) log.info("expired revocations pruned", { pruned });
    },
    onFailure: (cause) => log.warn("revocations could not be reconciled", { error: describeError(cause) }),
    onForeign: (hint) => revocations.onForeign(hint),
  });
}

interface HeldClaims {
  /** Unix seconds. */
  issuedAt: number;
  /** Bus public key to Unix seconds: by the claims, and by what the server judges who connects now. */
  revoked: ReadonlyMap<string, number>;
  refuses: ReadonlyMap<string, number>;
  imports: ReadonlySet<string>;
  signingKeys: readonly string[];
}

/** Claims of one server; empty when it does not know the account. */
function readHeld({ jwt, refuses }: HeldJwt): HeldClaims {
  if (jwt === "") {
    return { issuedAt: 0, revoked: new Map(), refuses: new Map(), imports: new Set(), signingKeys: [] };
  }
  const claims = readClaims(jwt);
  const { revocations, signing_keys: signing } = claims.nats;
  const found = typeof revocations === "object" && revocations !== null ? Object.entries(revocations) : [];
  const revoked = new Map(found.filter((pair): pair is [string, number] => typeof pair[1] === "number"));
  return {
    issuedAt: claims.iat,
    revoked,
    refuses: refuses ?? revoked,
    imports: subjectsOf(claims, "imports"),
    signingKeys: Array.isArray(signing) ? signing.filter((key) => typeof key === "string") : [],
  };
}

/** Whether a server takes what the wanted signing keys sign, and nothing that a dropped one signed. */
function hasSigningKeys(
  { signingKeys }: Pick<HeldClaims, "signingKeys">,
  { wanted, dropped }: { wanted: readonly string[]; dropped: readonly string[] },
): boolean {
  return (
    wanted.every((key) => signingKeys.includes(key)) && !dropped.some((key) => signingKeys.includes(key))
  );
}

/**
 * JWTs of the key that were issued up to this time are invalid, Unix seconds. Each key has one JWT, so the
 * expiry of the JWT covers it, whatever the clocks of the masters showed.
 */
export function revokedUntil({ expiresAt, revokedAt, stray }: Revocation): number {
  // A stray that gets new credentials has a record again: only the JWTs of the time of the refusal are invalid.
  if (stray === true) return Math.ceil(revokedAt / 1000);
  return Math.ceil(expiresAt / 1000);
}

interface Wanted {
  entries: ReadonlyMap<string, Revocation>;
  imports: ReadonlySet<string>;
}

/**
 * Whether the bus revokes everything that is stored, and nothing that was lifted; its claims may still
 * contain expired entries. Claims of the version before may lack imports; those of a later one may have more.
 */
function agrees(
  held: Pick<HeldClaims, "revoked" | "imports">,
  { entries, imports }: Wanted,
  now: number,
): boolean {
  if (!imports.isSubsetOf(held.imports)) return false;
  return [...entries].every(([key, entry]) =>
    isLifted(entry, now) ? !held.revoked.has(key) : (held.revoked.get(key) ?? 0) >= revokedUntil(entry),
  );
}
