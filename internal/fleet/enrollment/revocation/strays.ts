import type { Clock, Timer } from "../../../base/clock.ts";
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

interface Refusing extends StrayDeps {
  /** Users without a record, by their key, until they are judged. */
  readonly waiting: Map<string, ConnectedUser>;
  timer: Timer | undefined;
  /** The next sweep after a gap. */
  later: Timer | undefined;
  /** How often connections may have begun without a report. */
  gaps: number;
  stopped: boolean;
  /** Refused keys. */
  count: number;
}

/**
 * Refuses strays: users of the bus with valid credentials that are in no record of a member, as after a restore of
 * an older backup. The refusal is stored, and ends when a record has the key.
 */
export function refuseStrays(deps: StrayDeps): { readonly count: number; stop(): void } {
  const { system, account, directory, clock } = deps;
  const refusing: Refusing = {
    ...{ ...deps, waiting: new Map(), timer: undefined, later: undefined },
    ...{ gaps: 0, stopped: false, count: 0 },
  };
  const ignoreConnections = system.followConnections(account, {
    began: (user) => note(refusing, user),
    ended() {},
    unsure: () => sweepLater(refusing),
  });
  const ignoreMembers = directory.onMember(() => {
    if (refusing.count > 0) schedule(refusing, collectMs);
  });
  const sweeping = clock.every(sweepMs, () => sweep(refusing));
  sweep(refusing);
  return {
    get count() {
      return refusing.count;
    },
    stop() {
      refusing.stopped = true;
      refusing.timer?.cancel();
      refusing.later?.cancel();
      sweeping.cancel();
      ignoreConnections();
      ignoreMembers();
    },
  };
}

function note(refusing: Refusing, user: ConnectedUser): void {
  refusing.connections.connected(user);
  if (refusing.directory.holds(user.name, user.user)) return;
  refusing.waiting.set(user.user, user);
  schedule(refusing, collectMs);
}

function schedule(refusing: Refusing, ms: number): void {
  if (refusing.stopped) return;
  refusing.timer ??= refusing.clock.after(ms, () => {
    refusing.timer = undefined;
    judge(refusing).catch((cause) => {
      refusing.log.warn("strays could not be refused", { reason: describeError(cause) });
      schedule(refusing, retryMs);
    });
  });
}

async function judge(refusing: Refusing): Promise<void> {
  const { directory, revocations, clock } = refusing;
  await directory.caughtUp();
  if (!refusing.isWhole()) return schedule(refusing, retryMs);
  const listed = await revocations.current(clock.now());
  const isLiftedNow = await liftReturned(refusing, listed);
  const isRefusedNow = await refuseWaiting(refusing, listed);
  const after = await revocations.current(clock.now());
  refusing.count = [...after.values()].filter((entry) => isRefused(entry, clock.now())).length;
  if (isLiftedNow || isRefusedNow) await refusing.enforcer.enforce();
}

type Listed = Awaited<ReturnType<StrayDeps["revocations"]["current"]>>;

/** Ends the refusal of those that have a record again. @returns whether there was one */
async function liftReturned(
  { directory, revocations, clock, log }: Refusing,
  listed: Listed,
): Promise<boolean> {
  let isChanged = false;
  for (const [key, entry] of listed) {
    const { peelId } = entry;
    if (!isRefused(entry, clock.now()) || !directory.holds(peelId, key)) continue;
    await revocations.lift(entry, clock.now());
    isChanged = true;
    log.info("a refused peel has a record again", { peel_id: peelId, bus_public_key: key });
  }
  return isChanged;
}

/** Refuses those that still have no record. @returns whether there was one */
async function refuseWaiting(
  { waiting, directory, revocations, clock, log }: Refusing,
  listed: Listed,
): Promise<boolean> {
  let isChanged = false;
  for (const user of [...waiting.values()]) {
    const { name: peel_id, user: bus_public_key } = user;
    waiting.delete(bus_public_key);
    // One that is listed is refused by the bus as soon as the claims arrive.
    const entry = listed.get(bus_public_key);
    if (directory.holds(peel_id, bus_public_key)) continue;
    if (entry !== undefined && !isLifted(entry, clock.now())) continue;
    await revocations.add(refusalOf(user, clock.now()));
    isChanged = true;
    log.warn("a peel without a valid record was refused", { peel_id, bus_public_key });
  }
  return isChanged;
}

/** Notes everyone who is connected. */
function sweep(refusing: Refusing): void {
  const { system, account, gaps, connections, log } = refusing;
  system
    .connectedUsers(account)
    .then(({ users, isComplete }) => {
      for (const user of users) note(refusing, user);
      if (isComplete && refusing.gaps === gaps) connections.sure();
      schedule(refusing, collectMs);
    })
    .catch((cause) => log.warn("the users of the bus could not be listed", { reason: describeError(cause) }));
}

/**
 * Servers verify the JWT of each connection that they report. What begins from now on is seen: while the fleet comes
 * back, they need their time for that.
 */
function sweepLater(refusing: Refusing): void {
  refusing.gaps++;
  refusing.connections.unsure();
  refusing.later ??= refusing.clock.after(refusing.settleMs(), () => {
    refusing.later = undefined;
    sweep(refusing);
  });
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
