import { createBackoff } from "../../base/backoff.ts";
import { type Clock, rfc3339, sleep, type Timer } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { version } from "../../base/version.ts";
import { isUnserved } from "../../bus/connection/mod.ts";
import { helloSubject, hintSubject, keySubject } from "../../bus/subjects/subjects.ts";
import { type BootstrapDocument, parseDocument } from "../../identity/bootstrap/mod.ts";
import { encodeHello, type HelloAnswer, openHelloAnswer } from "../../wire/hello.ts";
import type { Instance } from "../../wire/instance.ts";
import type { Insistence } from "../consent/mod.ts";
import type { AuditHeads, Connection, Spread } from "../link/mod.ts";
import type { FedSettingsStore } from "../settings/mod.ts";
import type { StateFiles } from "../state-files/mod.ts";
import type { Administrators } from "../trust/mod.ts";

const requestTimeoutMs = 5_000;
/** Spreads the requests of a fleet that learns of a change at the same moment. */
const hintSpreadMs = 10_000;
/**
 * After a connect: a server that goes has its peels connect to others in the same moment. Where the connections are
 * spread, so are the hellos, and a longer time would only come on top.
 */
const connectedSpreadMs = 2_000;
/** For a change of one peel. Masters already spread the notifications of a fleet-wide change. */
const ownSpreadMs = 1_000;
const pauses = { firstMs: 2_000, maxMs: 5 * 60_000 };
/** After a restart of the bus a peel is often back a moment before any master is: the bus answers that itself. */
const unservedPauses = { ...pauses, firstMs: 400 };
/** For a caller that waits, while masters refuse: they answer a peel that sends too many requests once a second. */
const refusedPauses = { firstMs: 1_000, maxMs: 4_000 };
const maxRefusals = 5;
/** Clock skew that is logged: deadlines are compared with this host's clock, and skew makes commands expire. */
const skewWarningMs = 5_000;

export interface HelloOptions {
  connection: Connection;
  peelId: string;
  /** This process, and the next number of its messages; absent in tests of other parts. */
  instance?(): Instance;
  /** Handles the bootstrap document. After a failure, the request is repeated later. */
  onCluster(document: BootstrapDocument): Promise<void>;
  /** Handles a signed command that the peel missed. */
  onCommand(command: Uint8Array): void;
  /** The command keys that this peel accepts; masters wait for it before they sign with another one. */
  commandKeys: { readonly current: readonly string[] };
  /** Receives after each answer whether masters named a command key that this peel still does not accept. */
  onKeys(missing: boolean): void;
  /** Called when the bus has no facts of this peel. */
  onLackingFacts?(): void;
  /** Receives the settings from the masters. */
  settings: Pick<FedSettingsStore, "version" | "take">;
  /** Receives the statement about the state files from the masters. */
  stateFiles: Pick<StateFiles, "reported">;
  /** Receives the newest entry of the audit, as masters signed it. */
  audit?: Pick<AuditHeads, "take">;
  /** Receives over what time the masters want a whole fleet to come back. */
  spread: Pick<Spread, "reported">;
  /** Receives releases and records of operators; absent on a peel that obeys masters. */
  insistence?: Pick<Insistence, "releases" | "learn">;
  /** Receives statements that change the administrators. */
  administrators?: Pick<Administrators, "version" | "take">;
  clock: Clock;
  jitter: () => number;
  log: Log;
}

export interface Hello {
  /**
   * Sends a hello now, and handles the response. Callers that wait at the same time share one. While masters refuse,
   * it waits and sends it again.
   *
   * @throws SvcError `unavailable` when the bus is unreachable, `rate_limited` when masters refuse for longer;
   *   errors in the response
   */
  now(): Promise<void>;
  /** Something changed that is for all peels of a fleet or a site: sends a hello within some seconds. */
  hinted(): void;
  stop(): void;
}

/**
 * Sends a hello to the masters after each connect, when the published cluster information changes, and when
 * they notify this peel of a change. Notifications are only hints, and their content is ignored: the values
 * come from the response.
 */
export function startHello(options: HelloOptions): Hello {
  const { connection, peelId, clock, jitter, log } = options;
  let running: Promise<void> | undefined;
  /** Spread of the next request after the current one has completed. */
  let againSpreadMs: number | undefined;
  const stopping = new AbortController();
  const backoff = createBackoff({ ...pauses, jitter });
  const unserved = createBackoff({ ...unservedPauses, jitter });
  const resetPauses = () => {
    backoff.reset();
    unserved.reset();
  };

  const again = (spreadMs: number) => {
    againSpreadMs = Math.min(spreadMs, againSpreadMs ?? spreadMs);
  };
  const alarm = createAlarm(clock, () => void attempt());
  const schedule = (inMs: number) => {
    if (!stopping.signal.aborted) alarm.set(inMs);
  };
  const soon = (spreadMs: number) => {
    resetPauses();
    if (running !== undefined) again(spreadMs);
    else schedule(Math.round(spreadMs * options.jitter()));
  };
  /** Masters answer one hello of a peel at a time: a call in the meantime shares it. */
  const join = () => {
    running ??= exchange().finally(() => {
      running = undefined;
      if (againSpreadMs !== undefined) schedule(Math.round(againSpreadMs * options.jitter()));
      againSpreadMs = undefined;
    });
    return running;
  };
  const attempt = async () => {
    if (!connection.connected) return;
    try {
      await join();
    } catch (thrown) {
      const inMs = (isUnserved(thrown) ? unserved : backoff).next();
      log.debug("no answer to hello", { reason: describeError(thrown), retry_in_ms: inMs });
      schedule(inMs);
    }
  };
  /** Tells masters what has arrived. It runs during an exchange, so another one follows. */
  const confirm = () => again(ownSpreadMs);
  const exchange = async () => {
    await exchangeOnce(options, confirm);
    resetPauses();
  };

  const hinted = () => soon(hintSpreadMs);
  connection.subscribe(keySubject("secrets", "_cluster_info"), hinted);
  connection.subscribe(hintSubject(peelId), () => soon(ownSpreadMs));
  const unsubscribe = connection.onConnect(() => soon(connectedSpreadMs));
  return {
    async now() {
      if (!connection.connected) {
        throw new SvcError("unavailable", "cannot reach the masters: the bus is unreachable");
      }
      // A request in progress may have been answered before the change that the caller waits for.
      await running?.catch(() => {});
      await untilTaken(options, join, stopping.signal);
    },
    hinted,
    stop() {
      stopping.abort(new SvcError("unavailable", "the peel stops"));
      alarm.cancel();
      unsubscribe();
    },
  };
}

/** A timer that keeps the earliest time to which it was set. */
function createAlarm(clock: Clock, run: () => void): { set(inMs: number): void; cancel(): void } {
  let timer: Timer | undefined;
  let dueAt = 0;
  return {
    set(inMs) {
      const at = clock.monotonic() + inMs;
      if (timer !== undefined && dueAt <= at) return;
      timer?.cancel();
      dueAt = at;
      timer = clock.after(inMs, () => {
        timer = undefined;
        run();
      });
    },
    cancel: () => timer?.cancel(),
  };
}

/** Repeats the request while masters refuse because of their rate limit. */
async function untilTaken(
  { clock, jitter }: HelloOptions,
  attempt: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const pause = createBackoff({ ...refusedPauses, jitter });
  for (let refusals = 1; ; refusals++) {
    try {
      return await attempt();
    } catch (thrown) {
      if (toSvcError(thrown).kind !== "rate_limited" || refusals > maxRefusals) throw thrown;
    }
    await sleep(clock, pause.next(), signal);
  }
}

/**
 * Sends one hello, and hands out what masters answer.
 *
 * @param confirm is called when masters must learn what has arrived
 * @throws SvcError when masters refuse, or what they answer is not whole. What arrived is handed out anyway
 */
async function exchangeOnce(options: HelloOptions, confirm: () => void): Promise<void> {
  const { commandKeys, clock, log } = options;
  const sentAt = clock.now();
  const known = commandKeys.current;
  const hello = encodeHello({
    version,
    sentAt,
    settingsVersion: options.settings.version,
    commandKeys: known,
    ...defined({ administratorsVersion: options.administrators?.version, instance: options.instance?.() }),
    ...(options.insistence === undefined ? {} : { insists: true, releases: options.insistence.releases }),
  });
  const subject = helloSubject(options.peelId);
  const answer = openHelloAnswer(await options.connection.request(subject, hello, requestTimeoutMs));
  log.debug("masters answered hello", { commands: answer.jobs.length });
  warnOfSkew(answer.serverTime, { sentAt, receivedAt: clock.now() }, log);
  options.spread.reported(answer.spreadMs);
  if (answer.lacksFacts === true) options.onLackingFacts?.();
  const document = parseDocument(answer.clusterInfo);
  // The calls of this peel wait for its settings, and then need the releases.
  takeReleases(options, answer, confirm);
  const take = () => {
    options.settings.take(defined({ envelope: answer.settings, error: answer.settingsError }));
    for (const command of answer.jobs) options.onCommand(command);
  };
  // New command keys come first: what masters send may be signed with one of them. Otherwise work does not wait.
  const lacksKey = () => document?.command_keys.some((key) => !commandKeys.current.includes(key)) === true;
  const keysFirst = lacksKey();
  if (!keysFirst) take();
  if (document === undefined)
    throw new SvcError("unavailable", "the response does not contain cluster information");
  try {
    await options.onCluster(document);
  } finally {
    options.onKeys(lacksKey());
    if (keysFirst) take();
    takeSigned(options, answer, confirm);
    if (commandKeys.current.join() !== known.join()) confirm();
  }
  if (answer.incomplete === true) throw new SvcError("unavailable", "the masters could not read everything");
}

/** After `onCluster`, which brings new command keys: what masters send may be signed with one of them. */
function takeSigned(options: HelloOptions, answer: HelloAnswer, confirm: () => void): void {
  if (answer.states !== undefined) options.stateFiles.reported(answer.states.statement);
  if (answer.audit !== undefined) options.audit?.take(answer.audit);
  // There may be more than one answer has.
  if (options.administrators?.take(answer.administrators ?? []) === true) confirm();
}

/** Masters must learn what this peel took, so that no release is made with a version that it has. */
function takeReleases({ insistence, log }: HelloOptions, answer: HelloAnswer, confirm: () => void): void {
  const { releases = [], operatorRecords: records = [] } = answer;
  try {
    if (insistence?.learn({ releases, records }) === true) confirm();
  } catch (thrown) {
    log.error("releases are not stored", { reason: describeError(thrown) });
  }
}

/** The masters' time is from some moment of the round trip. Only what exceeds that is clock skew. */
function warnOfSkew(
  serverTime: number,
  { sentAt, receivedAt }: { sentAt: number; receivedAt: number },
  log: Log,
) {
  const aheadMs = Math.max(0, sentAt - serverTime) - Math.max(0, serverTime - receivedAt);
  if (Math.abs(aheadMs) <= skewWarningMs || Number.isNaN(serverTime)) return;
  log.warn("the clock of this host differs from the masters': deadlines of jobs go by it, so set it right", {
    ahead_ms: aheadMs,
    server_time: rfc3339(serverTime),
  });
}
