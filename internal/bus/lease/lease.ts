import * as v from "valibot";
import { type Clock, rfc3339, sleep, type Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bucket, Change } from "../mod.ts";

/** How long the bucket keeps a lease that is not renewed (specification, section "Limits"). */
const ttlMs = 15_000;
const renewMs = 5_000;
/** The holder stops this long before the bucket can give the lease to somebody else. */
const marginMs = 2_000;
/** How long giving a lease back may take; when the bus is away it ends by itself. */
const giveBackMs = 1_000;
/** Contenders that wake in the same moment are spread over this time. */
const spreadMs = 500;

/** What a holder of a lease works under. */
export interface Tenure {
  /**
   * The fencing token: larger than that of every earlier tenure of this lease. Whatever a holder writes
   * carries it, and is refused when a larger one was there before.
   */
  readonly token: number;
  /** Aborts when the lease is lost or given up. */
  readonly signal: AbortSignal;
}

/** Who holds a lease, as everybody sees it. */
export interface LeaseHolder {
  holder: string;
  token: number;
}

/** One master's part in a lease. */
export interface Lease {
  readonly name: string;
  /** The tenure of this master, while it holds the lease. */
  readonly tenure: Tenure | undefined;
  /** Who holds it, as far as this master has heard. */
  readonly holder: LeaseHolder | undefined;
  /** Gives the lease up, so that another takes it at once, and contends for it no more. It takes at most a second. */
  stop(): Promise<void>;
}

export interface LeaseOptions {
  bucket: Bucket;
  /** `publisher`, `facts-secrets` */
  name: string;
  /** Name of this master, for people. */
  self: string;
  /** Called with each tenure; ends what it began when the tenure's signal aborts. */
  onTenure(tenure: Tenure): void;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

const storedLease = v.object({ holder: v.string(), token: v.optional(v.number(), 0) });

/**
 * Contends for a lease for as long as it is not stopped. Only differences on the monotonic clock count, so
 * a wall clock that jumps changes nothing; a process that was paused finds its tenure over when it goes on.
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
  /** Until when this master may act as the holder, on the monotonic clock. */
  let validUntil = 0;

  const wake = (inMs: number) => {
    timer?.cancel();
    if (!stopped) timer = clock.after(inMs, () => void step());
  };
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
    // The place in the stream of the bucket only grows, whatever becomes of the keys.
    const end = new AbortController();
    mine = { tenure: { token: revision, signal: end.signal }, end, revision };
    validUntil = askedAt + ttlMs - marginMs;
    seen = { holder: self, token: revision };
    // Given up while the bus took its time: whoever stops gives it back.
    if (stopped) return;
    log.info("lease acquired", { lease: name, token: revision });
    wake(renewMs);
    options.onTenure(mine.tenure);
  };
  const renew = async () => {
    if (mine === undefined || stopped) return;
    const askedAt = clock.monotonic();
    // After a pause another may hold it by now; what a tenure allowed ended on time either way.
    if (askedAt >= validUntil) {
      lose("this process was paused too long");
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
      lose("somebody else holds it");
      return wake(ttlMs + spreadMs * jitter());
    }
    mine.revision = revision;
    validUntil = askedAt + ttlMs - marginMs;
    wake(renewMs);
  };

  const giveBack = async () => {
    await busy;
    if (mine === undefined) return;
    const { revision } = mine;
    mine = undefined;
    await bucket.remove(name, revision).catch((thrown) => {
      log.warn("lease not given back; it ends by itself", { lease: name, reason: describeError(thrown) });
    });
  };

  const onChange = ({ key, value, revision }: Change) => {
    if (key !== name) return;
    if (value === undefined) {
      seen = undefined;
      if (mine === undefined) wake(spreadMs * jitter());
      return;
    }
    const parsed = v.safeParse(storedLease, safely(value));
    if (!parsed.success) return;
    seen = { holder: parsed.output.holder, token: parsed.output.token || revision };
    // The bucket forgets it this long after it was stored; that it did is not announced.
    if (mine === undefined) wake(ttlMs + spreadMs * jitter());
  };
  const watch = bucket.watch(onChange);
  wake(spreadMs * jitter());
  return {
    name,
    get tenure() {
      // Asked at any moment, also after a pause that no timer has noticed yet.
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
