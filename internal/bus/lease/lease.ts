import { type Clock, rfc3339, sleep, type Timer, untilDue } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket, Change } from "../storage/mod.ts";
import { encodeHeld, readHeld } from "./held.ts";

/** How long the bucket keeps a lease without renewal (specification, section "Limits"). */
const ttlMs = 15_000;
const renewMs = 5_000;
/** The holder stops this long before another master can get the lease. */
const marginMs = 2_000;
/** Timeout of giving a lease back; when the bus is away, the lease expires instead. */
const giveBackMs = 1_000;
/** Contenders that wake at the same moment are spread over this time. */
const spreadMs = 500;

/** The tenure of a lease holder. */
export interface Tenure {
  /**
   * The fencing token: larger than that of every earlier tenure of this lease. Every write of a holder
   * carries it, and is refused after a write with a larger token.
   */
  readonly token: number;
  /** Aborts when the lease is lost or given up. */
  readonly signal: AbortSignal;
}

/** The holder of a lease, as all masters see it. */
export interface LeaseHolder {
  holder: string;
  token: number;
}

/** The participation of one master in a lease. */
export interface Lease {
  readonly name: string;
  /** The tenure of this master, while it holds the lease. */
  readonly tenure: Tenure | undefined;
  /** The holder, as far as this master knows. */
  readonly holder: LeaseHolder | undefined;
  /**
   * Gives up the lease, so that another master can take over at once, and stops contending. It takes at most
   * a second.
   */
  stop(): Promise<void>;
}

export interface LeaseOptions {
  bucket: Bucket;
  /** `publisher`, `facts-secrets` */
  name: string;
  /** Name of this master, for people. */
  self: string;
  /** Called with each tenure; must end its work when the signal of the tenure aborts. */
  onTenure(tenure: Tenure): void;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

/** A process that contends for a lease, or holds it. */
interface Contender extends LeaseOptions {
  seen: LeaseHolder | undefined;
  mine: { tenure: Tenure; end: AbortController; revision: number } | undefined;
  timer: Timer | undefined;
  /** The step that runs: one follows the other. */
  busy: Promise<void>;
  stopped: boolean;
  /** When this tenure began, for people. */
  since: string;
  /** Time until which this master may act as the holder, on the monotonic clock. */
  validUntil: number;
}

/**
 * Contends for a lease until it is stopped. Only the monotonic clock counts, so a jump of the wall clock
 * changes nothing. When a paused process resumes, its tenure has ended.
 */
export function contend(options: LeaseOptions): Lease {
  const { bucket, name, clock, jitter } = options;
  const contender: Contender = {
    ...options,
    ...{ seen: undefined, mine: undefined, timer: undefined, stopped: false, since: "", validUntil: 0 },
    busy: Promise.resolve(),
  };
  const watch = bucket.watch((change) => notice(contender, change), name);
  wake(contender, spreadMs * jitter());
  return {
    name,
    get tenure() {
      const { mine, validUntil } = contender;
      // May be called at any time, also after a pause that no timer has noticed yet.
      const holds = mine !== undefined && !mine.end.signal.aborted && clock.monotonic() < validUntil;
      return holds ? mine.tenure : undefined;
    },
    get holder() {
      return contender.seen;
    },
    async stop() {
      contender.stopped = true;
      contender.timer?.cancel();
      watch.stop();
      contender.mine?.end.abort(new Error(`the lease ${name} was given up`));
      const late = new AbortController();
      const timeout = sleep(clock, giveBackMs, late.signal).catch(() => {});
      await Promise.race([giveBack(contender), timeout]);
      late.abort();
    },
  };
}

function wake(contender: Contender, inMs: number): void {
  contender.timer?.cancel();
  if (!contender.stopped) contender.timer = contender.clock.after(inMs, () => void step(contender));
}

/** The leases of a master are renewed together. */
const wakeToRenew = (contender: Contender) => wake(contender, untilDue(renewMs, contender.clock.monotonic()));

/** Waits until another one may have let the lease expire. */
const wakeWhenExpired = (contender: Contender) => wake(contender, ttlMs + spreadMs * contender.jitter());

function step(contender: Contender): Promise<void> {
  const { name, clock, log } = contender;
  const act = contender.mine === undefined ? acquire : renew;
  contender.busy = contender.busy
    .then(() => act(contender))
    .catch((thrown) => {
      log.warn("lease not reachable", { lease: name, reason: describeError(thrown) });
      if (contender.mine !== undefined && clock.monotonic() >= contender.validUntil) {
        lose(contender, "it could not be renewed in time");
      }
      wake(contender, contender.mine === undefined ? renewMs : 1_000);
    });
  return contender.busy;
}

function lose(contender: Contender, reason: string): void {
  const { name, mine, log } = contender;
  if (mine === undefined) return;
  log.warn("lease lost", { lease: name, token: mine.tenure.token, reason });
  contender.mine = undefined;
  mine.end.abort(new Error(`the lease ${name} was lost: ${reason}`));
}

async function acquire(contender: Contender): Promise<void> {
  const { bucket, name, self, clock, log } = contender;
  if (contender.stopped) return;
  const requestedAt = clock.monotonic();
  contender.since = rfc3339(clock.now());
  const revision = await bucket.create(name, encodeHeld({ holder: self, since: contender.since }));
  if (revision === undefined) return wakeWhenExpired(contender);
  // The sequence in the stream of the bucket only grows, whatever happens to the keys.
  const end = new AbortController();
  const tenure = { token: revision, signal: end.signal };
  contender.mine = { tenure, end, revision };
  contender.validUntil = requestedAt + ttlMs - marginMs;
  contender.seen = { holder: self, token: revision };
  // It was given up before the bus replied: `stop` gives it back.
  if (contender.stopped) return;
  log.info("lease acquired", { lease: name, token: revision });
  wakeToRenew(contender);
  contender.onTenure(tenure);
}

async function renew(contender: Contender): Promise<void> {
  const { bucket, name, self, clock, mine, since } = contender;
  if (mine === undefined || contender.stopped) return;
  const requestedAt = clock.monotonic();
  // After a pause another master may hold it; the tenure ended on time in both cases.
  if (requestedAt >= contender.validUntil) {
    lose(contender, "this process was paused for too long");
    return wake(contender, 0);
  }
  const { token } = mine.tenure;
  const value = encodeHeld({ holder: self, token, since, renewed_at: rfc3339(clock.now()) });
  const revision = await bucket.update(name, value, mine.revision);
  if (revision === undefined) {
    lose(contender, "another master holds it");
    return wakeWhenExpired(contender);
  }
  mine.revision = revision;
  contender.validUntil = requestedAt + ttlMs - marginMs;
  wakeToRenew(contender);
}

async function giveBack(contender: Contender): Promise<void> {
  await contender.busy;
  const { bucket, name, mine, log } = contender;
  if (mine === undefined) return;
  contender.mine = undefined;
  await bucket.remove(name, mine.revision).catch((thrown) => {
    log.warn("lease not released; it will expire", { lease: name, reason: describeError(thrown) });
  });
}

/** Notices who holds the lease. */
function notice(contender: Contender, { value, revision }: Change): void {
  const isMine = contender.mine !== undefined;
  if (value === undefined) {
    contender.seen = undefined;
    if (!isMine) wake(contender, spreadMs * contender.jitter());
    return;
  }
  const found = readHeld(value);
  if (found === undefined) return;
  contender.seen = { holder: found.holder, token: found.token ?? revision };
  // The bucket removes it this long after it was stored, and does not announce the removal.
  if (!isMine) wakeWhenExpired(contender);
}
