import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import type { ConnectedUser, Reconciler, SystemBus } from "../../../bus/servers/mod.ts";
import { readClaims } from "../../../identity/mod.ts";
import { maxValidityMs } from "../bus-user/mod.ts";
import type { Directory } from "../store/mod.ts";
import { isLifted, isRefused, type Revocation, type Revocations } from "./revocations.ts";

/** How long connects are collected: after an outage a whole fleet returns, and one push refuses all strays. */
const collectMs = 250;
const retryMs = 5_000;
const sweepMs = 5 * 60_000;

export interface StrayDeps {
  system: Pick<SystemBus, "followConnections" | "connectedUsers">;
  /** Public key of the peels' account. */
  account: string;
  directory: Pick<Directory, "holds" | "caughtUp" | "onMember">;
  revocations: Pick<Revocations, "add" | "current" | "lift">;
  enforcer: Pick<Reconciler, "enforce">;
  /** Called for each connection that begins, and for all of them now and then. */
  connections: {
    connected(user: ConnectedUser): void;
    /** Some may have begun without a report. */
    unsure(): void;
    /** All were reported that began before the last call of `unsure`. */
    sure(): void;
  };
  /** How long a fleet takes to come back after the bus was away. */
  settleMs(): number;
  /** Whether the bus has every decision that this master knows: otherwise a missing record means nothing. */
  isWhole(): boolean;
  clock: Clock;
  log: Log;
}

/**
 * Refuses strays: users of the bus with valid credentials that are in no record of a member, as after a restore of
 * an older backup. The refusal is stored, and ends when a record has the key.
 */
export function refuseStrays(deps: StrayDeps): { readonly count: number; stop(): void } {
  const { system, account, directory, revocations, enforcer, connections, clock, log } = deps;
  const waiting = new Map<string, ConnectedUser>();
  let timer: { cancel(): void } | undefined;
  let stopped = false;
  let count = 0;

  const note = (user: ConnectedUser) => {
    connections.connected(user);
    if (directory.holds(user.name, user.user)) return;
    waiting.set(user.user, user);
    schedule(collectMs);
  };
  const schedule = (ms: number) => {
    if (stopped) return;
    timer ??= clock.after(ms, () => {
      timer = undefined;
      judge().catch((cause) => {
        log.warn("strays could not be refused", { reason: describeError(cause) });
        schedule(retryMs);
      });
    });
  };
  const judge = async () => {
    await directory.caughtUp();
    if (!deps.isWhole()) {
      schedule(retryMs);
      return;
    }
    const listed = await revocations.current(clock.now());
    let isChanged = false;
    for (const [key, entry] of listed) {
      const { peelId } = entry;
      if (!isRefused(entry, clock.now()) || !directory.holds(peelId, key)) continue;
      await revocations.lift(entry, clock.now());
      isChanged = true;
      log.info("a refused peel has a record again", { peel_id: peelId, bus_public_key: key });
    }
    for (const user of [...waiting.values()]) {
      waiting.delete(user.user);
      // One that is listed is refused by the bus as soon as the claims arrive.
      const entry = listed.get(user.user);
      if (directory.holds(user.name, user.user)) continue;
      if (entry !== undefined && !isLifted(entry, clock.now())) continue;
      await revocations.add(refusalOf(user, clock.now()));
      isChanged = true;
      log.warn("a peel without a valid record was refused", {
        peel_id: user.name,
        bus_public_key: user.user,
      });
    }
    const after = await revocations.current(clock.now());
    count = [...after.values()].filter((entry) => isRefused(entry, clock.now())).length;
    if (isChanged) await enforcer.enforce();
  };
  let gaps = 0;
  let later: { cancel(): void } | undefined;
  const sweep = () => {
    const before = gaps;
    system
      .connectedUsers(account)
      .then(({ users, isComplete }) => {
        for (const user of users) note(user);
        if (isComplete && gaps === before) connections.sure();
        schedule(collectMs);
      })
      .catch((cause) =>
        log.warn("the users of the bus could not be listed", { reason: describeError(cause) }),
      );
  };
  // Servers verify the JWT of each connection that they tell. What begins from now on is heard: while the fleet comes
  // back, they need their time for that.
  const sweepLater = () => {
    gaps++;
    connections.unsure();
    later ??= clock.after(deps.settleMs(), () => {
      later = undefined;
      sweep();
    });
  };
  const ignoreConnections = system.followConnections(account, {
    began: note,
    ended() {},
    unsure: sweepLater,
  });
  const ignoreMembers = directory.onMember(() => {
    if (count > 0) schedule(collectMs);
  });
  const sweeping = clock.every(sweepMs, sweep);
  sweep();
  return {
    get count() {
      return count;
    },
    stop() {
      stopped = true;
      timer?.cancel();
      later?.cancel();
      sweeping.cancel();
      ignoreConnections();
      ignoreMembers();
    },
  };
}

/** The refusal of a stray, which covers every JWT of its key that exists now. */
function refusalOf({ user, name, jwt }: ConnectedUser, now: number): Revocation {
  const { issuedAt, expiresAt } = timesOf(jwt, now);
  return {
    busPublicKey: user,
    peelId: name,
    enrollmentId: "",
    revokedAt: Math.max(now, issuedAt),
    expiresAt,
    stray: true,
  };
}

function timesOf(jwt: string, now: number): { issuedAt: number; expiresAt: number } {
  try {
    const { iat, exp } = readClaims(jwt);
    return { issuedAt: iat * 1000, expiresAt: exp === undefined ? now + maxValidityMs : exp * 1000 };
  } catch {
    return { issuedAt: now, expiresAt: now + maxValidityMs };
  }
}
