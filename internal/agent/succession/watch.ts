import { sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { KeyPair } from "../../identity/mod.ts";
import type { SignedSuccession } from "../../identity/succession/mod.ts";
import type { Rung, TrustOptions } from "../../identity/trust/mod.ts";
import type { RecoveryKeys, RefusedStatements } from "../trust/mod.ts";
import type { Accepted } from "./accepted.ts";
import { type FetchOptions, fetchStatement, satisfies } from "./fetch-statement.ts";
import { judgeSuccession } from "./judge.ts";
import type { Pace } from "./pace.ts";

const checkMs = 5_000;
/** How long the bus may be away before a statement is requested from the masters. */
const awayMs = 60_000;
/** Spreads the requests of a fleet that lost its bus at the same moment. */
const requestSpreadMs = 15_000;
const statementSpreadMs = 40_000;
/** Between two requests to masters that satisfy the peel, or of which none has a statement. */
const againMs = 5 * 60_000;
/** The same for a peel that does nothing else: it waits for a master of its fleet as well as for a statement. */
const refusedAgainMs = 60_000;
const storeAgainMs = 30_000;

export interface WatchOptions extends FetchOptions {
  /** The masters of this peel. */
  urls: readonly string[];
  /** How this peel verifies them. @throws SvcError when its configuration cannot be read */
  rung(): Rung;
  /** Which roots it trusts after a rotation. */
  across(): Pick<TrustOptions, "followed" | "across">;
  /** The peel's key, if it has one. */
  key(): KeyPair | undefined;
  recoveryKeys: Pick<RecoveryKeys, "current">;
  accepted: Accepted;
  pace: Pace;
  refusedStatements: Pick<RefusedStatements, "note" | "clear">;
  isConnected(): boolean;
  /** Whether it is known already that a master does not satisfy this peel. */
  isRefused(): boolean;
  /** A master of its fleet answers, although the bus is away. */
  onSatisfied(): void;
}

/**
 * Waits until this peel accepts a statement of succession. While it is on the bus it asks for none; when the bus is
 * away for a minute it asks the masters, and when none of them belongs to its fleet it requests a statement.
 *
 * @throws the reason of the signal
 */
export async function awaitSuccession(options: WatchOptions): Promise<SignedSuccession> {
  const { urls, recoveryKeys, pace, clock, jitter, log, signal } = options;
  let awaySince: number | undefined;
  let nextRequestAt = 0;
  const complaints = new Set<string>();
  const complain = (event: string, url: string, reason: string) => {
    const level = complaints.has(`${event}${url}${reason}`) ? "debug" : "warn";
    complaints.add(`${event}${url}${reason}`);
    log[level](event, { url, reason });
  };

  /** The first statement that the peel accepts, of any of its masters. */
  const requestStatement = async (): Promise<SignedSuccession | undefined> => {
    pace.requested();
    const { accepted } = options;
    for (const url of urls) {
      let found: unknown;
      try {
        found = await fetchStatement(url, options);
      } catch (thrown) {
        signal.throwIfAborted();
        log.debug("no statement of succession", { url, reason: describeError(thrown) });
        continue;
      }
      if (found === undefined) continue;
      try {
        const serial = accepted.statement?.serial ?? 0;
        return judgeSuccession(found, { recoveryKeys: recoveryKeys.current, serial });
      } catch (thrown) {
        const reason = describeError(thrown);
        complain("a statement of succession is refused", url, reason);
        options.refusedStatements.note("succession", reason);
      }
    }
    return undefined;
  };
  const anySatisfies = async (): Promise<boolean> => {
    for (const url of urls) {
      const [rung, across, key] = [options.rung(), options.across(), options.key()];
      if (await satisfies(url, { ...options, rung, across, key })) return true;
    }
    return false;
  };

  for (;;) {
    await sleep(clock, checkMs, signal);
    if (options.isConnected()) {
      awaySince = undefined;
      continue;
    }
    const now = clock.monotonic();
    if (awaySince === undefined) {
      awaySince = now;
      nextRequestAt = now + (options.isRefused() ? 0 : awayMs) + requestSpreadMs * jitter();
    }
    if (options.isRefused()) nextRequestAt = Math.min(nextRequestAt, now + requestSpreadMs * jitter());
    if (now < nextRequestAt || urls.length === 0 || recoveryKeys.current.length === 0) continue;
    try {
      if (await anySatisfies()) options.onSatisfied();
      else if (!options.isRefused() || pace.waitMs() <= refusedAgainMs) {
        await sleep(clock, Math.max(pace.waitMs(), statementSpreadMs * jitter()), signal);
        const statement = options.isConnected() ? undefined : await requestStatement();
        if (statement !== undefined) {
          await store(statement, options);
          // They belonged to the previous fleet.
          for (const kind of ["succession", "rotation"] as const) options.refusedStatements.clear(kind);
          return statement;
        }
      }
    } catch (thrown) {
      signal.throwIfAborted();
      complain("the masters cannot be asked", "", describeError(thrown));
    }
    nextRequestAt = clock.monotonic() + (options.isRefused() ? refusedAgainMs : againMs) * (1 + jitter() / 5);
  }
}

/** Nothing else helps this peel: what cannot be stored now is stored later. */
async function store(
  statement: SignedSuccession,
  { accepted, clock, log, signal }: WatchOptions,
): Promise<void> {
  for (;;) {
    try {
      accepted.accept(statement);
      break;
    } catch (thrown) {
      log.error("a statement of succession cannot be stored", {
        reason: describeError(thrown),
        retry_in_ms: storeAgainMs,
      });
      await sleep(clock, storeAgainMs, signal);
    }
  }
  log.warn("this peel joins the fleet that succeeds its own", {
    serial: statement.serial,
    fingerprint: statement.fingerprint,
    master_urls: statement.master_urls,
  });
}
