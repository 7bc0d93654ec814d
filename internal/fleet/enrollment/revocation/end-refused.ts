import type { Clock } from "../../../base/clock.ts";
import type { ConnectedUser, SystemBus } from "../../../bus/servers/mod.ts";
import { readClaims } from "../../../identity/mod.ts";
import { revokedUntil } from "./held-claims.ts";
import { isLifted, isOver, type Revocation, type Revocations } from "./revocations.ts";

/** How many keys are queried at once, and how many wait at most: a hostile peel can make up any number. */
const atOnce = 32;
const maxWaiting = 1_024;

export interface EndRefusedDeps {
  system: Pick<SystemBus, "endConnections" | "takesLong">;
  /** Public key of the peels' account. */
  account: string;
  revocations: Pick<Revocations, "find">;
  clock: Clock;
}

/** Ends refused connections as soon as a server reports them. */
export interface RefusedConnections {
  /**
   * The key of this entry is revoked from now on. Where servers have few connections, and of many entries at once, the
   * claims of the account end the connections, and tell the clients why.
   */
  revoked(entry: Revocation): void;
  /** @returns whether the client named another key than that of its JWT */
  connected(connection: ConnectedUser): boolean;
  /** Connections may have begun without a report, until all of them were inspected. */
  unsure(): void;
  /** All connections that began before the last call of `unsure` were checked. */
  sure(): void;
  /** Resolves when all were ended that must not be, as far as they began by now: `false` when that is not certain. */
  ended(): Promise<boolean>;
}

/**
 * Ends the connections of a revoked key, for the moment until all servers refuse that key, and those of clients that
 * named another key than that of their JWT. Servers find the connections of a user by the key that its client named, so
 * the latter could not be found when their key is revoked.
 */
export function endRefused(deps: EndRefusedDeps): RefusedConnections {
  const { system, account, revocations, clock } = deps;
  const waiting = new Set<string>();
  let batch: Promise<unknown> | undefined;
  let batches = 0;
  // A master that was just started has received no report.
  let isSure = false;
  const isRevoked = ({ user, jwt }: ConnectedUser) => refuses(revocations.find(user), jwt, clock.now());
  const isRefused = (one: ConnectedUser) => isDisguised(one) || isRevoked(one);
  const next = () => {
    if (batch !== undefined || waiting.size === 0) return;
    const reported = [...waiting].slice(0, atOnce);
    for (const one of reported) waiting.delete(one);
    batch = system
      .endConnections(account, reported, isRefused)
      // The claims end what is left.
      .catch(() => false)
      .finally(() => {
        batch = undefined;
        batches++;
        next();
      });
  };
  return {
    revoked(entry) {
      if (!system.takesLong() || isLifted(entry, clock.now()) || waiting.size >= atOnce) return;
      waiting.add(entry.busPublicKey);
      next();
    },
    connected(connection) {
      if (!isRefused(connection)) return false;
      if (waiting.size < maxWaiting) waiting.add(connection.reported);
      else isSure = false;
      next();
      return isDisguised(connection);
    },
    unsure() {
      isSure = false;
    },
    sure() {
      isSure = true;
    },
    async ended() {
      // A hostile peel that connects again and again must not hold this up: others wait behind what waits now.
      const last = batches + Math.ceil(waiting.size / atOnce) + (batch === undefined ? 0 : 1);
      while (batch !== undefined && batches < last) await batch;
      return isSure;
    },
  };
}

const isDisguised = ({ user, reported }: ConnectedUser): boolean => reported !== "" && reported !== user;

/** Whether an entry of the revocation list covers a JWT of its key. */
function refuses(entry: Revocation | undefined, jwt: string, now: number): boolean {
  if (entry === undefined || isLifted(entry, now) || isOver(entry.expiresAt, now) || jwt === "") return false;
  return readClaims(jwt).iat <= revokedUntil(entry);
}
