import { describeError, SvcError } from "../../base/errors.ts";
import { RenewalRefused } from "../../wire/renewal.ts";
import { dropPendingKey, readPendingKey } from "../identity/mod.ts";
import type { Issued } from "../joining/mod.ts";
import { withHedging } from "../link/mod.ts";
import {
  type ChangeOptions,
  type Changing,
  enrollmentId,
  nextBusKey,
  overBus,
  overHttps,
  type PeelLink,
  reload,
  store,
} from "./changing.ts";
import type { Held, Life } from "./life.ts";
import { isForNow, NobodyRenews, sendRekey, sendRenewal } from "./send-renewal.ts";

/** Changes what a peel is known by. One at a time: each reads what the one before wrote. */
export interface Changes {
  /** The credentials in use; `undefined` without any. */
  readonly held: Held | undefined;
  /** Their lifetime. */
  readonly life: Life | undefined;
  /** What a crash or a lost answer left undone. */
  readonly undone: "renew" | "rekey" | undefined;
  /** Reads the file again: a person may have replaced it. */
  reload(): void;
  /** Renews the credentials, and moves the connection. @throws SvcError; those in use stay */
  renew(link: PeelLink | undefined): Promise<void>;
  /** Replaces the key of this peel and its credentials. @throws SvcError */
  rekey(link: PeelLink | undefined): Promise<void>;
  /** Replaces credentials that cannot be used. @throws EnrollmentEnded, TrustError, SvcError */
  recover(): Promise<void>;
}

export function createChanges(options: ChangeOptions): Changes {
  const changing: Changing = { ...options, held: undefined, life: undefined };
  reload(changing);
  return {
    get held() {
      return changing.held;
    },
    get life() {
      return changing.life;
    },
    get undone() {
      return undoneOf(changing);
    },
    reload: () => reload(changing),
    renew: (link) => renew(changing, link),
    rekey: (link) => rekey(changing, link),
    async recover() {
      const issued = await overHttps(changing, true);
      store(changing, issued.credentials);
    },
  };
}

function undoneOf({ files, keys, held }: Changing): Changes["undone"] {
  if (keys.next() !== undefined) return "rekey";
  const pending = readPendingKey(files.nextSeed);
  const isUndone = pending !== undefined && pending !== "damaged" && pending.publicKey !== held?.publicKey;
  return isUndone ? "renew" : undefined;
}

/** Connects with new credentials, stores them, and only then leaves the old connection. */
async function change(changing: Changing, { connection, open }: PeelLink, issued: Issued): Promise<void> {
  await connection.reopen(
    (urls) => open(urls, issued.credentials),
    () => store(changing, issued.credentials),
  );
}

/** @throws SvcError `unavailable` before the peel is connected */
function linked(changing: Changing, link: PeelLink | undefined): { over: PeelLink; current: Held } {
  reload(changing);
  const { held } = changing;
  if (link === undefined || held === undefined) {
    throw new SvcError("unavailable", "this peel is not connected to the bus yet");
  }
  return { over: link, current: held };
}

async function renew(changing: Changing, link: PeelLink | undefined): Promise<void> {
  const { over, current } = linked(changing, link);
  const issued = await renewOver(changing, over, current);
  await change(changing, over, issued);
  await learnAdministrators(changing, over, issued);
}

async function renewOver(changing: Changing, over: PeelLink, current: Held): Promise<Issued> {
  const { files, peelId, keys, masters, clock } = changing;
  const id = await enrollmentId(changing);
  const { key: busKey, isNew, isDamaged } = nextBusKey(changing);
  // Masters may have accepted a key that was lost.
  if (isDamaged) return overHttps(changing, false);
  const connection = withHedging(over.connection, clock);
  const next = keys.next();
  const request = (key: typeof busKey) =>
    overBus(changing, over, () =>
      sendRenewal({ connection, peelId, enrollmentId: id, key, renews: current.publicKey, busKey, clock }),
    );
  try {
    return await request(keys.current());
  } catch (thrown) {
    const isUseless = thrown instanceof RenewalRefused && thrown.code === "bad_request";
    if (isUseless || (isNew && thrown instanceof NobodyRenews)) dropPendingKey(files.nextSeed);
    if (!isUnauthorized(thrown)) throw thrown;
    if (next !== undefined) {
      const issued = await request(next);
      keys.adopt(next);
      return issued;
    }
    // Such as with a clock that is wrong: over HTTPS a challenge takes the place of the time.
    if (masters === undefined) throw thrown;
    return overHttps(changing, false);
  }
}

/**
 * The administrators for a peel that enrolled before its fleet had any. Over HTTPS, where the master is verified;
 * without one, the first list that the bus brings counts, and nothing but a statement of one of them replaces it.
 */
async function learnAdministrators(changing: Changing, link: PeelLink, issued: Issued): Promise<void> {
  const { administrators, files, masters, log } = changing;
  if (administrators?.lacking !== true || issued.administrators.list.length === 0) return;
  try {
    if (masters !== undefined) return await change(changing, link, await overHttps(changing, false));
    log.warn("administrators learned over the bus, where nobody verifies the master: compare them", {
      file: files.administrators,
    });
    administrators.learn(issued.administrators);
  } catch (thrown) {
    log.warn("administrators not learned yet", { reason: describeError(thrown) });
  }
}

async function rekey(changing: Changing, link: PeelLink | undefined): Promise<void> {
  // Masters may know the key of the next credentials already, and take it for nothing but the renewal that named it.
  if (undoneOf(changing) === "renew") await renew(changing, link);
  const { peelId, keys, clock, random } = changing;
  const { over, current } = linked(changing, link);
  const id = await enrollmentId(changing);
  const oldKey = keys.current();
  const isNew = keys.next() === undefined;
  const newKey = keys.makeNext(random);
  const { key: busKey } = nextBusKey(changing);
  const requested = { connection: over.connection, peelId, enrollmentId: id, busKey, clock };
  let issued: Issued;
  try {
    issued = await overBus(changing, over, () => sendRekey({ ...requested, oldKey, newKey }));
  } catch (thrown) {
    if (isNew && thrown instanceof NobodyRenews) keys.dropNext();
    if (!(thrown instanceof RenewalRefused) || isForNow(thrown)) throw thrown;
    // It may be refused because it was answered before, and the answer was lost.
    const again = () => sendRenewal({ ...requested, key: newKey, renews: current.publicKey });
    issued = await overBus(changing, over, again).catch((cause) => {
      if (cause instanceof RenewalRefused && !isForNow(cause)) keys.dropNext();
      throw thrown;
    });
  }
  keys.adopt(newKey);
  await change(changing, over, issued);
}

const isUnauthorized = (thrown: unknown) =>
  thrown instanceof RenewalRefused && thrown.code === "unauthorized";
