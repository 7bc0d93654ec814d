import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { SystemBus } from "../bus/system.ts";
import { readClaims } from "../identity/jwt.ts";
import type { Revocation, Revocations } from "./revocations.ts";

const reconcileMs = 60_000;
const attempts = 4;

export interface EnforceDeps {
  revocations: Revocations;
  system: SystemBus;
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
   * @returns whether every server of the cluster confirmed
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

  const push = (entries: ReadonlyMap<string, Revocation>, held: readonly HeldClaims[]) => {
    // The claims of an account must only ever get newer: the server keeps the newest after a restart.
    const now = Math.floor(clock.now() / 1000);
    lastIssuedAt = Math.max(now, lastIssuedAt + 1, ...held.map(({ issuedAt }) => issuedAt + 1));
    const list = [...entries].map(([key, { revokedAt }]) => [key, Math.floor(revokedAt / 1000)] as const);
    return system.pushClaims(deps.encodeAccount(Object.fromEntries(list), lastIssuedAt));
  };
  /** Whether all servers hold all that is stored; if not, what they hold and what is stored. */
  const compare = async () => {
    const held = (await system.lookupClaims(account)).map(readHeld);
    const entries = await revocations.current(clock.now());
    const complete = held.length >= system.servers().total;
    return { held, entries, agreed: complete && held.every((one) => agrees(one, entries)) };
  };

  const run = async (): Promise<boolean> => {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const { held, entries, agreed } = await compare();
      if (agreed) return true;
      if (!(await push(entries, held))) log.warn("not every server took the revocations", { attempt });
    }
    return (await compare()).agreed;
  };
  const enforce = (): Promise<boolean> => {
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
        return enforce();
      });
    return next;
  };
  const inBackground = () => {
    enforce()
      .then((confirmed) => {
        if (!confirmed) log.warn("revocations are not confirmed by the whole bus yet");
        return revocations.prune(clock.now());
      })
      .then((pruned) => {
        if (pruned > 0) log.info("expired revocations pruned", { pruned });
      })
      .catch((cause) => log.warn("revocations could not be reconciled", { error: describeError(cause) }));
  };
  return {
    enforce,
    start() {
      inBackground();
      const timer = clock.every(reconcileMs, inBackground);
      const unsubscribe = system.onServerJoin(inBackground);
      return {
        stop() {
          timer.cancel();
          unsubscribe();
        },
      };
    },
  };
}

interface HeldClaims {
  /** Unix seconds. */
  issuedAt: number;
  revoked: ReadonlySet<string>;
}

function readHeld(jwt: string): HeldClaims {
  const claims = readClaims(jwt);
  const revocations = claims.nats.revocations;
  const keys = typeof revocations === "object" && revocations !== null ? Object.keys(revocations) : [];
  return { issuedAt: claims.iat, revoked: new Set(keys) };
}

/** Whether the bus revokes everything that is stored; what expired may still stand in its claims. */
function agrees(held: HeldClaims, entries: ReadonlyMap<string, Revocation>): boolean {
  return [...entries.keys()].every((key) => held.revoked.has(key));
}
