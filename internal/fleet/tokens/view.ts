import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { shareRuns } from "../../base/share-runs.ts";
import { type Bucket, caughtUpInTime } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { EndedTokens } from "./ended.ts";
import { decodeToken, type Token } from "./record.ts";

/** The tokens, in memory, kept current by one watch. */
export interface TokenView {
  /** By the SHA-256 of its text, in hexadecimal. */
  byDigest(digest: string): Token | undefined;
  /** By name. */
  all(): readonly Token[];
  /**
   * Resolves when everything that is stored now is known.
   *
   * @throws SvcError `storage` or `unavailable`
   */
  caughtUp(): Promise<void>;
  stop(): void;
}

/**
 * A record counts when a master vouches for it, and when it is not older than what was known under its name: an attacker who
 * controls the bus can put back an earlier revision, in which a token was not revoked.
 */
export function createTokenView({
  bucket,
  mac,
  ended,
  clock,
  log,
}: {
  bucket: Pick<Bucket, "watch">;
  mac: RecordMac;
  /** Tokens that are no longer valid, whatever the bus says. */
  ended: EndedTokens;
  clock: Pick<Clock, "after" | "now">;
  log: Log;
}): TokenView {
  const byName = new Map<string, Token>();
  const byDigest = new Map<string, Token>();
  /** The newest of each name that a master wrote, also after it was removed before its end. */
  const newest = new Map<string, Token>();
  const forget = (name: string) => {
    const token = byName.get(name);
    if (token === undefined) return;
    byName.delete(name);
    byDigest.delete(keyOf(token.digest));
  };
  const read = (key: string, value: Uint8Array): Token | undefined => {
    try {
      const token = decodeToken(mac, key, value);
      if (token === undefined) log.error("a stored token is not from a master; it does not count", { key });
      return token;
    } catch (thrown) {
      log.error("a stored token cannot be read; it does not count", { key, reason: describeError(thrown) });
      return undefined;
    }
  };
  const isPutBack = (token: Token): boolean => {
    const before = newest.get(token.name);
    if (before !== undefined && isOlder(token, before)) return true;
    return token.revokedAt === undefined && ended.has(token.id);
  };
  // Revisions are not compared: a stream that was made again counts from 1.
  const watch = bucket.watch(({ key, value }) => {
    const token = value === undefined ? undefined : read(key, value);
    // What cannot be read takes its token out: never let a wrong record keep one alive that nobody can revoke.
    if (token === undefined) {
      forget(key);
      if ((newest.get(key)?.expiresAt ?? 0) <= clock.now()) newest.delete(key);
      return;
    }
    if (isPutBack(token)) {
      log.error("an earlier record of a token was put back; it does not count", { key, token: token.id });
      return;
    }
    const before = newest.get(key);
    if (before !== undefined && before.id !== token.id) ended.add(before);
    if (token.revokedAt !== undefined) ended.add(token);
    forget(key);
    newest.set(token.name, token);
    byName.set(token.name, token);
    byDigest.set(keyOf(token.digest), token);
  });
  return {
    byDigest(digest) {
      const token = byDigest.get(digest);
      // The audit may have reported its end after the bus had shown an earlier record.
      return token === undefined || isPutBack(token) ? undefined : token;
    },
    all: () => [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    caughtUp: shareRuns(() => caughtUpInTime(watch, "tokens", clock)),
    stop: () => watch.stop(),
  };
}

const keyOf = (digest: Uint8Array): string => Buffer.from(digest).toString("hex");

/** Whether a record is earlier than another one of the same name. */
function isOlder(token: Token, than: Token): boolean {
  if (token.id !== than.id) return token.createdAt < than.createdAt;
  return token.revokedAt === undefined && than.revokedAt !== undefined;
}
