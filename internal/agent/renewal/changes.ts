import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { secretMode, writeFileAtomic } from "../../base/file.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { writing } from "../../base/new-files.ts";
import type { Bus } from "../../bus/mod.ts";
import {
  type Administrators,
  BusKeyRefused,
  type CommandKeys,
  dropPendingKey,
  EnrollmentEnded,
  findEnrollment,
  type IdentityFiles,
  type Issued,
  type KeyRing,
  keepEnrollmentId,
  loadPendingKey,
  type MasterClient,
  type RecoveryKeys,
  readEnrollmentId,
  readPeelCredentials,
  readPendingKey,
  recoverCredentials,
} from "../joining/mod.ts";
import { askingAgain, type Connection } from "../link/mod.ts";
import { askToRekey, askToRenew, isForNow, NobodyRenews, RenewalRefused } from "./ask-masters.ts";
import { type Held, type Life, readHeld, startLife } from "./life.ts";

export interface ChangeOptions {
  files: IdentityFiles;
  /** Encoded peel id. */
  peelId: string;
  keys: KeyRing;
  commandKeys: Pick<CommandKeys, "replace" | "differs">;
  recoveryKeys: Pick<RecoveryKeys, "learn">;
  administrators?: Pick<Administrators, "learn" | "lacking">;
  /** The masters over HTTPS; absent where none is configured. */
  masters: { client: Pick<MasterClient, "request">; attempts: number } | undefined;
  /** How the operator makes this peel enroll again. */
  again: string;
  clock: Clock;
  random: Random;
  log: Log;
}

/** How a running peel reaches the bus. */
export interface PeelLink {
  connection: Connection;
  /** Connects once with these credentials, which are not on disk yet. */
  open(urls: readonly string[], credentials: string): Promise<Bus>;
  /** Fetches the bootstrap document over verified TLS. Absent without a master. */
  refresh: (() => Promise<unknown>) | undefined;
}

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
  const { files, peelId, keys, masters, clock, random, log } = options;
  let held: Held | undefined;
  let life: Life | undefined;

  const hold = (credentials: string, isFresh: boolean) => {
    held = readHeld(credentials);
    life = startLife(held, clock, isFresh);
  };
  /** The file may have been replaced by a person. */
  const reload = () => {
    try {
      const text = readPeelCredentials(files.credentials);
      if (readHeld(text).publicKey !== held?.publicKey) hold(text, false);
    } catch {
      // What is known of the credentials in use stays. The next renewal writes the file again.
    }
  };

  /** The id of this peel's enrollment. It is looked up where its file is lost. */
  const enrollmentId = async (): Promise<string> => {
    const known = readEnrollmentId(files.enrollment);
    if (known !== undefined) return known;
    if (masters === undefined) {
      throw new SvcError(
        "unavailable",
        "the id of the enrollment of this peel is not known: set master_url, so that the peel asks for it",
      );
    }
    for (const key of keys.all()) {
      const found = await findEnrollment(masters.client, key, masters.attempts);
      if (found === undefined) continue;
      keepEnrollmentId(files.enrollment, found.id);
      return found.id;
    }
    throw new EnrollmentEnded("no master knows an enrollment of the key of this peel", options.again);
  };

  /** The key of the next credentials: the one that masters were asked for, or a new one. */
  const nextBusKey = () => {
    const found = readPendingKey(files.nextSeed);
    if (found !== undefined && found !== "damaged" && found.publicKey === held?.publicKey) {
      dropPendingKey(files.nextSeed);
    }
    return loadPendingKey(files.nextSeed, random);
  };

  /** Replaces the file. Whatever happens before or after, one of the two keys on disk has credentials. */
  const store = (credentials: string) => {
    writing(files.credentials, () => writeFileAtomic(files.credentials, credentials, secretMode));
    hold(credentials, true);
    dropPendingKey(files.nextSeed);
  };

  /** Connects with new credentials, stores them, and only then leaves the old connection. */
  const change = async ({ connection, open }: PeelLink, issued: Issued) => {
    await connection.reopen(
      (urls) => open(urls, issued.credentials),
      () => store(issued.credentials),
    );
  };

  const overBus = async ({ connection, refresh }: PeelLink, ask: () => Promise<Issued>): Promise<Issued> => {
    if (!connection.connected) throw new SvcError("unavailable", "the bus is unreachable");
    const issued = await ask();
    // The bus is not trusted to name keys.
    if (options.commandKeys.differs(issued.commandKeys)) {
      refresh?.().catch((thrown) =>
        log.warn("command keys not fetched yet", { reason: describeError(thrown) }),
      );
    }
    return issued;
  };

  const overHttps = async (revokePrevious: boolean): Promise<Issued> => {
    if (masters === undefined) {
      throw new SvcError(
        "unavailable",
        "no master is configured, so the credentials cannot be recovered: set master_url",
      );
    }
    const request = {
      masters: masters.client,
      attempts: masters.attempts,
      peelId,
      enrollmentId: await enrollmentId(),
      keys: [keys.current(), keys.next()].filter((key) => key !== undefined),
      revokePrevious,
      again: options.again,
    };
    const issued = await recoverCredentials({ ...request, busKey: nextBusKey().key }).catch((thrown) => {
      if (!(thrown instanceof BusKeyRefused)) throw thrown;
      dropPendingKey(files.nextSeed);
      return recoverCredentials({ ...request, busKey: nextBusKey().key });
    });
    options.commandKeys.replace(issued.commandKeys);
    options.recoveryKeys.learn(issued.recoveryKeys);
    options.administrators?.learn(issued.administrators);
    if (issued.key.publicKey === keys.next()?.publicKey) keys.adopt(issued.key);
    return issued;
  };

  /**
   * The administrators for a peel that enrolled before its fleet had any. Over HTTPS, where the master is verified;
   * without one, the first list that the bus brings counts, and nothing but a statement of one of them replaces it.
   */
  const learnAdministrators = async (link: PeelLink, issued: Issued): Promise<void> => {
    const { administrators } = options;
    if (administrators?.lacking !== true || issued.administrators.list.length === 0) return;
    try {
      if (masters !== undefined) return await change(link, await overHttps(false));
      log.warn("administrators learned over the bus, where nobody verifies the master: compare them", {
        file: files.administrators,
      });
      administrators.learn(issued.administrators);
    } catch (thrown) {
      log.warn("administrators not learned yet", { reason: describeError(thrown) });
    }
  };

  const renewOver = async (over: PeelLink, current: Held): Promise<Issued> => {
    const id = await enrollmentId();
    const { key: busKey, isNew, isDamaged } = nextBusKey();
    // Masters may have accepted a key that was lost.
    if (isDamaged) return overHttps(false);
    const connection = askingAgain(over.connection, clock);
    const next = keys.next();
    const ask = (key: typeof busKey) =>
      overBus(over, () =>
        askToRenew({ connection, peelId, enrollmentId: id, key, renews: current.publicKey, busKey, clock }),
      );
    try {
      return await ask(keys.current());
    } catch (thrown) {
      const isUseless = thrown instanceof RenewalRefused && thrown.wire === "bad_request";
      if (isUseless || (isNew && thrown instanceof NobodyRenews)) dropPendingKey(files.nextSeed);
      if (!isUnauthorized(thrown)) throw thrown;
      if (next !== undefined) {
        const issued = await ask(next);
        keys.adopt(next);
        return issued;
      }
      // Such as with a clock that is wrong: over HTTPS a challenge takes the place of the time.
      if (masters === undefined) throw thrown;
      return overHttps(false);
    }
  };

  const linked = (link: PeelLink | undefined): { over: PeelLink; current: Held } => {
    reload();
    if (link === undefined || held === undefined) {
      throw new SvcError("unavailable", "this peel is not connected to the bus yet");
    }
    return { over: link, current: held };
  };

  const renew = async (link: PeelLink | undefined) => {
    const { over, current } = linked(link);
    const issued = await renewOver(over, current);
    await change(over, issued);
    await learnAdministrators(over, issued);
  };

  const rekey = async (link: PeelLink | undefined) => {
    const { over, current } = linked(link);
    const id = await enrollmentId();
    const oldKey = keys.current();
    const isNew = keys.next() === undefined;
    const newKey = keys.makeNext(random);
    const { key: busKey } = nextBusKey();
    const { connection } = over;
    let issued: Issued;
    try {
      issued = await overBus(over, () =>
        askToRekey({ connection, peelId, enrollmentId: id, oldKey, newKey, busKey, clock }),
      );
    } catch (thrown) {
      if (isNew && thrown instanceof NobodyRenews) keys.dropNext();
      if (!(thrown instanceof RenewalRefused) || isForNow(thrown)) throw thrown;
      // It may be refused because it was answered before, and the answer was lost.
      issued = await renewWith(newKey).catch((cause) => {
        if (cause instanceof RenewalRefused && !isForNow(cause)) keys.dropNext();
        throw thrown;
      });
    }
    keys.adopt(newKey);
    await change(over, issued);

    function renewWith(key: typeof newKey): Promise<Issued> {
      const renews = current.publicKey;
      return overBus(over, () =>
        askToRenew({ connection, peelId, enrollmentId: id, key, renews, busKey, clock }),
      );
    }
  };

  const recover = async () => {
    const issued = await overHttps(true);
    store(issued.credentials);
  };

  reload();
  return {
    get held() {
      return held;
    },
    get life() {
      return life;
    },
    get undone() {
      if (keys.next() !== undefined) return "rekey";
      const pending = readPendingKey(files.nextSeed);
      const isUndone =
        pending !== undefined && pending !== "damaged" && pending.publicKey !== held?.publicKey;
      return isUndone ? "renew" : undefined;
    },
    reload,
    renew,
    rekey,
    recover,
  };
}

const isUnauthorized = (thrown: unknown) =>
  thrown instanceof RenewalRefused && thrown.wire === "unauthorized";
