import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { SystemBus } from "../../bus/mod.ts";
import { readClaims } from "../../identity/mod.ts";
import { isOver, type Revocation, type Revocations } from "./revocations.ts";

const reconcileMs = 60_000;
/** When to look again after the bus did not confirm, or after somebody else stored a revocation. */
const soonMs = 5_000;
/** An operator's request over the bus is over after 5 s: the answer must come before. */
const confirmMs = 4_000;
/** How often one run pushes; each push but the first answers one of another master. */
const pushes = 8;

export interface EnforceDeps {
  revocations: Pick<Revocations, "seen" | "current" | "prune" | "onForeign" | "released">;
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

/** Makes the bus agree with the bucket of revocations. */
export interface Enforcer {
  /**
   * Brings the bus up to date; calls that come while one runs share the next.
   *
   * @returns whether every server of the cluster confirmed, within 4 s, what was stored at the call;
   *   if not, it goes on and is repeated until they do
   */
  enforce(): Promise<boolean>;
  /** Enforces at start, when a server joins and every minute, until stopped. */
  start(): { stop(): void };
}

/**
 * Creates the enforcer of one master. Several may run at once and the bus takes claims in any order,
 * even old ones: so each push is followed by a look at what the bus holds against what is stored, and
 * by another push until they agree. Whoever pushed last has looked last.
 */
export function createEnforcer(deps: EnforceDeps): Enforcer {
  const { revocations, system, account, clock, log } = deps;
  let lastIssuedAt = 0;
  let running: Promise<boolean> | undefined;
  let next: Promise<boolean> | undefined;
  let started = false;
  let again: { cancel(): void } | undefined;

  const push = (entries: ReadonlyMap<string, Revocation>, held: readonly HeldClaims[]) => {
    // A server keeps the newest claims at its start, also against the ones its configuration came
    // with, and those may be of this very second.
    const now = Math.floor(clock.now() / 1000) + 1;
    lastIssuedAt = Math.max(now, lastIssuedAt + 1, ...held.map(({ issuedAt }) => issuedAt + 1));
    const list = new Map<string, number>();
    // What the bus revokes already stays, so that a master that has not seen everything undoes nothing.
    for (const { revoked } of held) {
      for (const [key, until] of revoked) {
        if (!isOver(until * 1000, clock.now()) && !revocations.released.has(key)) list.set(key, until);
      }
    }
    for (const [key, entry] of entries) list.set(key, revokedUntil(entry));
    return system.pushClaims(deps.encodeAccount(Object.fromEntries(list), lastIssuedAt));
  };
  /** What the servers hold, what is stored, and whether all servers answered. */
  const look = async (after: "start" | "push") => {
    const held = (await system.lookupClaims(account)).map(readHeld);
    // A first push does not wait for what other masters may have stored: the look after it does.
    const now = clock.now();
    const entries = await (after === "push" ? revocations.current(now) : revocations.seen(now));
    return { held, entries, complete: held.length >= system.servers().total };
  };

  const run = async (): Promise<boolean> => {
    let wanted: ReadonlyMap<string, Revocation> | undefined;
    for (let pushed = 0; ; pushed++) {
      const { held, entries, complete } = await look(pushed === 0 ? "start" : "push");
      wanted ??= entries;
      if (complete && held.every((one) => agrees(one, entries, revocations.released))) return true;
      // A server that stays silent is not waited for in a circle.
      if (pushed === pushes || (pushed > 1 && !complete)) {
        lookAgainSoon();
        const expected = wanted;
        return complete && held.every((one) => agrees(one, expected, revocations.released));
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
    // A run that has begun may have read the bucket before this caller wrote it.
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

/** Claims of one server; one that knows no such account answers with nothing. */
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
 * Until when JWTs of the key are void, Unix seconds: a server compares it with the time a JWT was
 * issued. Each key has one JWT, so its end covers it, whatever the clocks of the masters said.
 */
function revokedUntil({ expiresAt, revokedAt, stray }: Revocation): number {
  // The refusal of a stray may end: where no master takes it back in the claims, it is over after an hour.
  if (stray === true) return Math.ceil(revokedAt / 1000);
  return Math.ceil(expiresAt / 1000);
}

/** Whether the bus revokes everything that is stored; what is over may still stand in its claims. */
function agrees(
  held: HeldClaims,
  entries: ReadonlyMap<string, Revocation>,
  released: ReadonlySet<string>,
): boolean {
  if ([...released].some((key) => held.revoked.has(key) && !entries.has(key))) return false;
  return [...entries].every(([key, entry]) => (held.revoked.get(key) ?? 0) >= revokedUntil(entry));
}
