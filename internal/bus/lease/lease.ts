import * as v from "valibot";
import { type Clock, rfc3339, sleep, type Timer, untilDue } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bucket, Change } from "../mod.ts";

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

const storedLease = v.object({ holder: v.string(), token: v.optional(v.number(), 0) });

/**
 * Contends for a lease until it is stopped. Only the monotonic clock counts, so a jump of the wall clock
 * changes nothing. When a paused process resumes, its tenure has ended.
 */
export function contend(options: LeaseOptions): Lease {
  const { bucket, name, self, clock, jitter, log } = options;
  let seen: LeaseHolder | undefined;
  let mine: { tenure: Tenure; end: AbortController; revision: number } | undefined;
  let timer: Timer | undefined;
  let busy: Promise<void> = Promise.resolve();
  let stopped = false;
  /** When this tenure began, for people. */
  let since = "";
  /** Time until which this master may act as the holder, on the monotonic clock. */
  let validUntil = 0;

  const wake = (inMs: number) => {
    timer?.cancel();
    if (!stopped) timer = clock.after(inMs, () => void step());
  };
  /** The leases of a master are renewed together. */
  const wakeToRenew = () => wake(untilDue(renewMs, clock.monotonic()));
  const lose = (reason: string) => {
    if (mine === undefined) return;
    log.warn("lease lost", { lease: name, token: mine.tenure.token, reason });
    const { end } = mine;
    mine = undefined;
    end.abort(new Error(`the lease ${name} was lost: ${reason}`));
  };
  const step = () => {
    busy = busy.then(mine === undefined ? acquire : renew).catch((thrown) => {
      log.warn("lease not reachable", { lease: name, reason: describeError(thrown) });
      if (mine !== undefined && clock.monotonic() >= validUntil) lose("it could not be renewed in time");
      wake(mine === undefined ? renewMs : 1_000);
    });
    return busy;
  };
  const acquire = async () => {
    if (stopped) return;
    const askedAt = clock.monotonic();
    since = rfc3339(clock.now());
    const revision = await bucket.create(name, encode({ holder: self, since }));
    if (revision === undefined) return wake(ttlMs + spreadMs * jitter());
    // The sequence in the stream of the bucket only grows, whatever happens to the keys.
    const end = new AbortController();
    mine = { tenure: { token: revision, signal: end.signal }, end, revision };
    validUntil = askedAt + ttlMs - marginMs;
    seen = { holder: self, token: revision };
    // It was given up before the bus replied: `stop` gives it back.
    if (stopped) return;
    log.info("lease acquired", { lease: name, token: revision });
    wakeToRenew();
    options.onTenure(mine.tenure);
  };
  const renew = async () => {
    if (mine === undefined || stopped) return;
    const askedAt = clock.monotonic();
    // After a pause another master may hold it; the tenure ended on time in both cases.
    if (askedAt >= validUntil) {
      lose("this process was paused for too long");
      return wake(0);
    }
    const value = encode({
      holder: self,
      token: mine.tenure.token,
      since,
      renewed_at: rfc3339(clock.now()),
    });
    const revision = await bucket.update(name, value, mine.revision);
    if (revision === undefined) {
      lose("another master holds it");
      return wake(ttlMs + spreadMs * jitter());
    }
    mine.revision = revision;
    validUntil = askedAt + ttlMs - marginMs;
    wakeToRenew();
  };

  const giveBack = async () => {
    await busy;
    if (mine === undefined) return;
    const { revision } = mine;
    mine = undefined;
    await bucket.remove(name, revision).catch((thrown) => {
      log.warn("lease not released; it will expire", { lease: name, reason: describeError(thrown) });
    });
  };

  const onChange = ({ value, revision }: Change) => {
    if (value === undefined) {
      seen = undefined;
      if (mine === undefined) wake(spreadMs * jitter());
      return;
    }
    const parsed = v.safeParse(storedLease, safely(value));
    if (!parsed.success) return;
    seen = { holder: parsed.output.holder, token: parsed.output.token || revision };
    // The bucket removes it this long after it was stored, and does not announce the removal.
    if (mine === undefined) wake(ttlMs + spreadMs * jitter());
  };
  const watch = bucket.watch(onChange, name);
  wake(spreadMs * jitter());
  return {
    name,
    get tenure() {
      // May be called at any time, also after a pause that no timer has noticed yet.
      const holds = mine !== undefined && !mine.end.signal.aborted && clock.monotonic() < validUntil;
      return holds ? mine?.tenure : undefined;
    },
    get holder() {
      return seen;
    },
    async stop() {
      stopped = true;
      timer?.cancel();
      watch.stop();
      mine?.end.abort(new Error(`the lease ${name} was given up`));
      const late = new AbortController();
      const timeout = sleep(clock, giveBackMs, late.signal).catch(() => {});
      await Promise.race([giveBack(), timeout]);
      late.abort();
    },
  };
}

function safely(bytes: Uint8Array): unknown {
  try {
    return decode(bytes);
  } catch {
    return undefined;
  }
}
