import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { SystemBus } from "../../bus/mod.ts";
import { readClaims } from "../../identity/mod.ts";
import { isOver, type Revocation, type Revocations } from "./revocations.ts";

const reconcileMs = 60_000;
/** When to check again after the bus did not confirm, or after another writer stored a revocation. */
const soonMs = 5_000;
/** An operator's request over the bus times out after 5 s: the reply must come earlier. */
const confirmMs = 4_000;
/** How often one run pushes; each push after the first reacts to one of another master. */
const pushes = 8;

export interface EnforceDeps {
  revocations: Pick<Revocations, "seen" | "current" | "prune" | "onForeign">;
  system: Pick<SystemBus, "servers" | "pushClaims" | "lookupClaims" | "onServerJoin">;
  /** Public key of the peels' account. */
  account: string;
  /**
   * Encodes the account's claims with these revocations (bus public key to Unix seconds).
   *
   * @param issuedAt Unix seconds
   */
  encodeAccount(revocations: Record<string, number>, issuedAt: number): string;
  clock: Clock;
  log: Log;
}

/** Makes the claims on the bus agree with the bucket of revocations. */
export interface Enforcer {
  /**
   * Updates the bus; calls during a run share the next run.
   *
   * @returns whether every server of the cluster confirmed the revocations of this call within 4 s; if not,
   * it is repeated until they do
   */
  enforce(): Promise<boolean>;
  /** Enforces at start, when a server joins and every minute, until stopped. */
  start(): { stop(): void };
}

/**
 * Creates the enforcer of one master. Several may run at once, and the bus accepts claims in any order, even
 * old ones. So after each push the enforcer compares the bus with storage, and pushes again until they agree.
 * The last master to push is also the last to compare.
 */
export function createEnforcer(deps: EnforceDeps): Enforcer {
  const { revocations, system, account, clock, log } = deps;
  let lastIssuedAt = 0;
  let running: Promise<boolean> | undefined;
  let next: Promise<boolean> | undefined;
  let started = false;
  let again: { cancel(): void } | undefined;

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
    for (const [key, entry] of entries) list.set(key, revokedUntil(entry));
    return system.pushClaims(deps.encodeAccount(Object.fromEntries(list), lastIssuedAt));
  };
  /** The claims of the servers, the stored revocations, and whether all servers answered. */
  const look = async (after: "start" | "push") => {
    const held = (await system.lookupClaims(account)).map(readHeld);
    // The first push does not wait for revocations of other masters: the comparison after it does.
    const now = clock.now();
    const entries = await (after === "push" ? revocations.current(now) : revocations.seen(now));
    return { held, entries, complete: held.length >= system.servers().total };
  };

  const run = async (): Promise<boolean> => {
    let wanted: ReadonlyMap<string, Revocation> | undefined;
    for (let pushed = 0; ; pushed++) {
      const { held, entries, complete } = await look(pushed === 0 ? "start" : "push");
      wanted ??= entries;
      if (complete && held.every((one) => agrees(one, entries))) return true;
      // Do not wait repeatedly for a server that does not answer.
      if (pushed === pushes || (pushed > 1 && !complete)) {
        lookAgainSoon();
        const expected = wanted;
        return complete && held.every((one) => agrees(one, expected));
      }
      if (!(await push(entries, held))) log.warn("not every server took the revocations", { pushed });
    }
  };
  const share = (): Promise<boolean> => {
    if (running === undefined) {
      running = run().finally(() => {
        running = undefined;
      });
      return running;
    }
    // A run in progress may have read the bucket before this caller wrote to it.
    next ??= running
      .catch(() => false)
      .then(() => {
        next = undefined;
        return share();
      });
    return next;
  };
  const lookAgainSoon = () => {
    if (!started) return;
    again ??= clock.after(soonMs, () => {
      again = undefined;
      inBackground();
    });
  };
  const inBackground = () => {
    share()
      .then((confirmed) => {
        if (!confirmed) log.warn("revocations are not confirmed by the whole bus yet");
        return revocations.prune(clock.now());
      })
      .then((pruned) => {
        if (pruned > 0) log.info("expired revocations pruned", { pruned });
      })
      .catch((cause) => {
        log.warn("revocations could not be reconciled", { error: describeError(cause) });
        lookAgainSoon();
      });
  };
  return {
    async enforce() {
      const late = Promise.withResolvers<boolean>();
      const timer = clock.after(confirmMs, () => late.resolve(false));
      try {
        return await Promise.race([share(), late.promise]);
      } catch (cause) {
        lookAgainSoon();
        throw cause;
      } finally {
        timer.cancel();
      }
    },
    start() {
      started = true;
      inBackground();
      const timer = clock.every(reconcileMs, inBackground);
      const ignoreServers = system.onServerJoin(inBackground);
      const ignoreForeign = revocations.onForeign(lookAgainSoon);
      return {
        stop() {
          started = false;
          timer.cancel();
          again?.cancel();
          ignoreServers();
          ignoreForeign();
        },
      };
    },
  };
}

interface HeldClaims {
  /** Unix seconds. */
  issuedAt: number;
  /** Bus public key to Unix seconds. */
  revoked: ReadonlyMap<string, number>;
}

/** Claims of one server; empty when it does not know the account. */
function readHeld(jwt: string): HeldClaims {
  if (jwt === "") return { issuedAt: 0, revoked: new Map() };
  const claims = readClaims(jwt);
  const revocations = claims.nats.revocations;
  const found = typeof revocations === "object" && revocations !== null ? Object.entries(revocations) : [];
  return {
    issuedAt: claims.iat,
    revoked: new Map(found.filter((pair): pair is [string, number] => typeof pair[1] === "number")),
  };
}

/**
 * JWTs of the key that were issued up to this time are invalid, Unix seconds. Each key has one JWT, so the
 * expiry of the JWT covers it, whatever the clocks of the masters showed.
 */
function revokedUntil({ expiresAt }: Revocation): number {
  return Math.ceil(expiresAt / 1000);
}

/** Whether the bus revokes everything that is stored; its claims may still contain expired entries. */
function agrees(held: HeldClaims, entries: ReadonlyMap<string, Revocation>): boolean {
  return [...entries].every(([key, entry]) => (held.revoked.get(key) ?? 0) >= revokedUntil(entry));
}
