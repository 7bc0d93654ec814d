import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import {
  dropPendingKey,
  type IdentityFiles,
  type KeyRing,
  loadPendingKey,
  readEnrollmentId,
  readPeelCredentials,
  readPendingKey,
  storeEnrollmentId,
} from "../identity/mod.ts";
import {
  BusKeyRefused,
  EnrollmentEnded,
  findEnrollment,
  type Issued,
  type MasterClient,
  recoverCredentials,
} from "../joining/mod.ts";
import type { Connection } from "../link/mod.ts";
import type { Administrators, CommandKeys, RecoveryKeys } from "../trust/mod.ts";
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

/** What a peel is known by, as it changes. */
export interface Changing extends ChangeOptions {
  /** The credentials in use; `undefined` without any. */
  held: Held | undefined;
  /** Their lifetime. */
  life: Life | undefined;
}

function hold(changing: Changing, credentials: string, isFresh: boolean): void {
  changing.held = readHeld(credentials);
  changing.life = startLife(changing.held, changing.clock, isFresh);
}

/** Reads the file again: a person may have replaced it. */
export function reload(changing: Changing): void {
  try {
    const text = readPeelCredentials(changing.files.credentials);
    if (readHeld(text).publicKey !== changing.held?.publicKey) hold(changing, text, false);
  } catch {
    // What is known of the credentials in use stays. The next renewal writes the file again.
  }
}

/** Replaces the file. Whatever happens before or after, one of the two keys on disk has credentials. */
export function store(changing: Changing, credentials: string): void {
  const { files } = changing;
  writing(files.credentials, () => writeFileAtomic(files.credentials, credentials, secretMode));
  hold(changing, credentials, true);
  dropPendingKey(files.nextSeed);
}

/** The id of this peel's enrollment. It is looked up where its file is lost. */
export async function enrollmentId({ files, keys, masters, again }: Changing): Promise<string> {
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
    storeEnrollmentId(files.enrollment, found.id);
    return found.id;
  }
  throw new EnrollmentEnded("no master knows an enrollment of the key of this peel", again);
}

/** The key of the next credentials: the one that was already requested, or a new one. */
export function nextBusKey({ files, random, held }: Changing): ReturnType<typeof loadPendingKey> {
  const found = readPendingKey(files.nextSeed);
  if (found !== undefined && found !== "damaged" && found.publicKey === held?.publicKey) {
    dropPendingKey(files.nextSeed);
  }
  return loadPendingKey(files.nextSeed, random);
}

/** Asks over the bus. @throws SvcError `unavailable` without a connection; what `send` throws */
export async function overBus(
  { commandKeys, log }: Changing,
  { connection, refresh }: PeelLink,
  send: () => Promise<Issued>,
): Promise<Issued> {
  if (!connection.connected) throw new SvcError("unavailable", "the bus is unreachable");
  const issued = await send();
  // The bus is not trusted to name keys.
  if (commandKeys.differs(issued.commandKeys)) {
    refresh?.().catch((thrown) =>
      log.warn("command keys not fetched yet", { reason: describeError(thrown) }),
    );
  }
  return issued;
}

/** Asks a master over HTTPS, and takes over what it names. @throws EnrollmentEnded, TrustError, SvcError */
export async function overHttps(changing: Changing, revokePrevious: boolean): Promise<Issued> {
  const { files, peelId, keys, masters, again } = changing;
  if (masters === undefined) {
    throw new SvcError(
      "unavailable",
      "no master is configured, so the credentials cannot be recovered: set master_url",
    );
  }
  const request = {
    ...{ masters: masters.client, attempts: masters.attempts, peelId, revokePrevious, again },
    enrollmentId: await enrollmentId(changing),
    keys: [keys.current(), keys.next()].filter((key) => key !== undefined),
  };
  const issued = await recoverCredentials({ ...request, busKey: nextBusKey(changing).key }).catch(
    (thrown) => {
      if (!(thrown instanceof BusKeyRefused)) throw thrown;
      dropPendingKey(files.nextSeed);
      return recoverCredentials({ ...request, busKey: nextBusKey(changing).key });
    },
  );
  changing.commandKeys.replace(issued.commandKeys);
  changing.recoveryKeys.learn(issued.recoveryKeys);
  changing.administrators?.learn(issued.administrators);
  if (issued.key.publicKey === keys.next()?.publicKey) keys.adopt(issued.key);
  return issued;
}
