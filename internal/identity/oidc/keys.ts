import { errors, type JWSHeaderParameters } from "jose";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { discoverKeys, type GetText } from "./discover.ts";
import type { KeptKeys } from "./kept-keys.ts";
import { type FindKey, finderOf } from "./key-set.ts";

/** Between two attempts to fetch the keys of one provider. */
const pauseMs = 60_000;
/** A key that a provider withdrew is valid no longer than this, while the provider answers. */
const freshMs = 3_600_000;
/** Nor longer than this while it does not. */
const maxMs = 7 * 24 * 3_600_000;

/** The keys of one provider. */
export interface ProviderKeys {
  /**
   * Finds the key for a token.
   *
   * @throws SvcError `unavailable` when no keys are known, and the provider does not answer
   * @throws JWKSNoMatchingKey and other errors of jose for a key that the provider does not have
   */
  find: FindKey;
  /** Fetches the keys, at most once a minute. Resolves also when that fails. */
  renew(): Promise<void>;
}

/** Keeps the keys of a provider in memory and on disk; known keys count while the provider does not answer. */
export function createProviderKeys(options: {
  issuer: string;
  get: GetText;
  kept: KeptKeys;
  clock: Pick<Clock, "now" | "monotonic">;
  log: Log;
}): ProviderKeys {
  const { issuer, get, kept, clock, log } = options;
  const loaded = kept.load();
  let current = loaded === undefined ? undefined : { at: loaded.at, find: finderOf(loaded.keys) };
  let triedAt: number | undefined;
  let running: Promise<void> | undefined;
  let failure = "not asked yet";
  const fetchKeys = async () => {
    try {
      const keys = await discoverKeys(issuer, get);
      current = { at: clock.now(), find: finderOf(keys) };
      kept.save({ keys, at: current.at });
      log.debug("keys of an identity provider fetched", { issuer, keys: keys.length });
    } catch (thrown) {
      failure = describeError(thrown);
      log.warn("the keys of an identity provider cannot be fetched", { issuer, reason: failure });
    }
  };
  const renew = (): Promise<void> => {
    if (running !== undefined) return running;
    const now = clock.monotonic();
    if (triedAt !== undefined && now - triedAt < pauseMs) return Promise.resolve();
    triedAt = now;
    running = fetchKeys().finally(() => {
      running = undefined;
    });
    return running;
  };
  /** A clock that was set back makes keys no younger. */
  const age = () => (current === undefined ? Number.POSITIVE_INFINITY : Math.abs(clock.now() - current.at));
  const known = (): FindKey => {
    if (current !== undefined && age() < maxMs) return current.find;
    const { host } = new URL(issuer);
    throw new SvcError("unavailable", `the keys of ${host} are not known: ${failure}; try again in a minute`);
  };
  const findKey = async (header: JWSHeaderParameters, token: Parameters<FindKey>[1]) => {
    if (age() >= maxMs) await renew();
    else if (age() >= freshMs) void renew();
    try {
      return await known()(header, token);
    } catch (thrown) {
      if (!(thrown instanceof errors.JWKSNoMatchingKey)) throw thrown;
      await renew();
      return known()(header, token);
    }
  };
  return { find: findKey as FindKey, renew };
}
