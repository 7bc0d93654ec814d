import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { encodeSession, keyOf, readSession, type Session, type SessionKind, type Who } from "./record.ts";

export const sessionMs = 8 * 3_600_000;
export const linkMs = 60_000;
/** Of one operator; the oldest gives way. */
const maxOfOne: Readonly<Record<SessionKind, number>> = { session: 16, link: 8 };
/** Of all operators; then nobody else signs in. */
const maxInSum = 4_000;

/** Where sessions are kept. */
export interface SessionStore {
  /** Kept in memory on the bus, so that every master knows them, for no longer than a session lasts. */
  bucket: Pick<Bucket, "get" | "create" | "remove" | "entries">;
  mac: RecordMac;
  clock: Pick<Clock, "now">;
  random: Random;
}

/** One that was read, and the revision to remove. */
export interface Kept {
  session: Session;
  revision: number;
}

/**
 * Stores a session or a link.
 *
 * @throws SvcError `conflict` when it exists, `unavailable` when there are too many in sum, `storage`
 */
export async function maintainSession(
  store: SessionStore,
  { kind, digest, who, source }: Pick<Session, "kind" | "digest" | "who" | "source">,
  lastsMs: number,
): Promise<Session> {
  const { bucket, mac, clock, random } = store;
  const now = clock.now();
  const session: Session = {
    ...{ id: newId("ses", now, random), kind, digest, who, source },
    ...{ createdAt: now, expiresAt: now + lastsMs },
  };
  // Before the others are read: two masters that do this at once both see both.
  const revision = await bucket.create(keyOf(kind, digest), encodeSession(mac, session));
  if (revision === undefined) {
    throw new SvcError("conflict", `this ${kind} exists already: ask for another one`);
  }
  const kept = await readAll(store);
  const own = kept
    .filter((one) => one.session.kind === kind && isSame(one.session.who, who))
    .sort((a, b) => b.revision - a.revision);
  const over = own.slice(maxOfOne[kind]);
  if (kept.length - over.length > maxInSum) {
    await removeKept(store, { session, revision });
    throw new SvcError(
      "unavailable",
      `there are ${maxInSum} sessions of the console already: try again later`,
    );
  }
  for (const old of over) await removeKept(store, old);
  return session;
}

/** Reads one. @returns `undefined` for none, and for one that has ended by its time @throws SvcError `storage` */
export async function findSession(
  { bucket, mac, clock }: SessionStore,
  kind: SessionKind,
  digest: Uint8Array,
): Promise<Kept | undefined> {
  const key = keyOf(kind, digest);
  const entry = await bucket.get(key);
  const session = entry === undefined ? undefined : readSession(mac, key, entry.value);
  if (entry === undefined || session === undefined || session.expiresAt <= clock.now()) return undefined;
  return { session, revision: entry.revision };
}

/** Ends one on every master. @returns `false` when another master did it first @throws SvcError `storage` */
export function removeKept({ bucket }: SessionStore, { session, revision }: Kept): Promise<boolean> {
  return bucket.remove(keyOf(session.kind, session.digest), revision);
}

/** The sessions of a person, and the links that would become one. @throws SvcError `storage` */
export async function keptOf(store: SessionStore, who: Who): Promise<Kept[]> {
  return (await readAll(store)).filter(({ session }) => isSame(session.who, who));
}

async function readAll({ bucket, mac, clock }: SessionStore): Promise<Kept[]> {
  const now = clock.now();
  return (await bucket.entries()).flatMap(({ key, value, revision }) => {
    const session = readSession(mac, key, value);
    return session === undefined || session.expiresAt <= now ? [] : [{ session, revision }];
  });
}

/** Whether they are one person: names of different kinds cannot be mistaken for each other. */
const isSame = (a: Who, b: Who): boolean => a.by === b.by && a.name === b.name;
