import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { shareRuns } from "../../base/share-runs.ts";
import { type Bucket, caughtUpInTime } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { EndedTokens } from "../tokens/mod.ts";
import { decodeToken, type JoinTokenRecord } from "./record.ts";
import { decodeUse, parseKey, type Use } from "./use.ts";

/** A use as it is stored. */
export type StoredUse = Use & { revision: number };

/** The tokens and their uses, in memory, kept current by one watch. */
export interface JoinTokenView {
  get(id: string): JoinTokenRecord | undefined;
  /** Newest first. */
  all(): readonly JoinTokenRecord[];
  /** The uses of a token that were ever taken, by slot; also those that were given back. */
  usesOf(id: string): ReadonlyMap<number, StoredUse>;
  /** The slot that this host took last, if it has not given it back. */
  slotOf(id: string, publicKey: string): number | undefined;
  /** How many uses of a token are taken: a kept count, as strangers may ask. */
  used(id: string): number;
  /** A value of the bucket: from the watch, or one that this master has just written. */
  apply(change: { key: string; value?: Uint8Array | undefined; revision: number }): void;
  /**
   * Resolves when everything that is stored now is known.
   *
   * @throws SvcError `storage` or `unavailable`
   */
  caughtUp(): Promise<void>;
  stop(): void;
}

export interface JoinTokenViewDeps {
  bucket: Pick<Bucket, "watch">;
  mac: RecordMac;
  /** Tokens that were revoked, whatever the bus says. */
  ended: EndedTokens;
  clock: Pick<Clock, "after" | "now">;
  log: Log;
}

interface Known extends JoinTokenViewDeps {
  readonly tokens: Map<string, JoinTokenRecord>;
  readonly uses: Map<string, Map<number, StoredUse>>;
  /** Slots by the public key of their host, by token. */
  readonly owners: Map<string, Map<string, number>>;
  /** How many uses are taken, by token. */
  readonly taken: Map<string, number>;
}

/**
 * A record counts when a master vouches for it, and when it is not older than what was known under its key: an attacker who
 * controls the bus can put back an earlier revision, in which a token was not revoked or a use was free.
 */
export function createJoinTokenView(deps: JoinTokenViewDeps): JoinTokenView {
  const known: Known = {
    ...{ ...deps, tokens: new Map(), uses: new Map() },
    ...{ owners: new Map(), taken: new Map() },
  };
  const { tokens, uses, owners, taken } = known;
  const apply: JoinTokenView["apply"] = (change) => applyChange(known, change);
  const watch = deps.bucket.watch(apply);
  const none: ReadonlyMap<number, StoredUse> = new Map();
  return {
    apply,
    get: (id) => tokens.get(id),
    all: () => [...tokens.values()].sort((a, b) => (a.id < b.id ? 1 : -1)),
    usesOf: (id) => uses.get(id) ?? none,
    slotOf: (id, publicKey) => owners.get(id)?.get(publicKey),
    used: (id) => taken.get(id) ?? 0,
    caughtUp: shareRuns(() => caughtUpInTime(watch, "join tokens", deps.clock)),
    stop: () => watch.stop(),
  };
}

function applyChange(known: Known, { key, value, revision }: Parameters<JoinTokenView["apply"]>[0]) {
  const { token, slot } = parseKey(key);
  if (slot === undefined) return applyToken(known, token, value);
  if (value !== undefined) return applyUse(known, { id: token, slot, key, value, revision });
  const { tokens, uses, owners, taken, clock } = known;
  // Masters remove the uses of a token that ended long ago; of another one a use stays taken.
  if ((tokens.get(token)?.expiresAt ?? 0) > clock.now()) {
    return distrust(known, key, "others removed a use of it");
  }
  const left = uses.get(token);
  const removed = left?.get(slot);
  if (left === undefined || removed === undefined) return;
  left.delete(slot);
  countTaken(known, token, removed, undefined);
  if (left.size > 0) return;
  uses.delete(token);
  owners.delete(token);
  taken.delete(token);
}

function applyToken(known: Known, id: string, value: Uint8Array | undefined) {
  const { tokens, ended, mac } = known;
  const token = value === undefined ? undefined : read(known, id, () => decodeToken(mac, id, value));
  if (token === undefined) {
    tokens.delete(id);
    return;
  }
  if (token.revokedAt === undefined && ended.has(id)) {
    tokens.delete(id);
    return distrust(known, id, "it was revoked, and an earlier record was put back");
  }
  if (token.revokedAt !== undefined) ended.add(token);
  tokens.set(id, token);
}

function applyUse(
  known: Known,
  {
    id,
    slot,
    key,
    value,
    revision,
  }: { id: string; slot: number; key: string; value: Uint8Array; revision: number },
): void {
  const { uses, owners } = known;
  const use = read(known, key, () => decodeUse(known.mac, key, value));
  if (use === undefined) return;
  const stored = uses.get(id) ?? new Map<number, StoredUse>();
  const before = stored.get(slot);
  if (before !== undefined && use.n < before.n) {
    // The watch repeats earlier values after a reconnect; a later revision of them was put back.
    if (revision > before.revision) distrust(known, key, "an earlier record of it was put back");
    return;
  }
  uses.set(id, stored.set(slot, { ...use, revision }));
  countTaken(known, id, before, use);
  const slots = owners.get(id) ?? new Map<string, number>();
  if (before !== undefined && slots.get(before.publicKey) === slot) slots.delete(before.publicKey);
  if (!use.free) slots.set(use.publicKey, slot);
  owners.set(id, slots);
}

function countTaken({ taken }: Known, id: string, before: Use | undefined, after: Use | undefined): void {
  const one = (use: Use | undefined) => (use === undefined || use.free ? 0 : 1);
  taken.set(id, (taken.get(id) ?? 0) + one(after) - one(before));
}

function read<T>(known: Known, key: string, decodeIt: () => T | undefined): T | undefined {
  try {
    const found = decodeIt();
    if (found === undefined) distrust(known, key, "no master made it");
    return found;
  } catch (thrown) {
    distrust(known, key, describeError(thrown));
    return undefined;
  }
}

const distrust = ({ log }: Known, key: string, reason: string): void =>
  log.error("a stored join token does not count", { key, reason });
