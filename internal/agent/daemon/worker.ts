import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { encode } from "../../base/msgpack.ts";
import { readRequestId } from "../../base/request-id.ts";
import { type Span, type Tracer, untraced } from "../../base/trace.ts";
import { ackSubject, dispatchSubject, parseJobSubject, returnSubject, stopSubject } from "../../bus/mod.ts";
import { type Call, decodeCall, readTrace } from "../../wire/call.ts";
import { type Command, type CommandKind, CommandRefused, openCommand } from "../../wire/command.ts";
import type { JobReturn } from "../../wire/return.ts";
import { openSiteCommand } from "../../wire/site-command.ts";
import type { Consent, Insistence } from "../consent/mod.ts";
import {
  type Acceptance,
  busyReturn,
  createUnconfirmed,
  failedReturn,
  fittingReturn,
  reportOutput,
  reportProgress,
} from "../execution/mod.ts";
import type { Connection } from "../link/mod.ts";
import { endTrace } from "./end-trace.ts";
import type { Local } from "./local.ts";

/** Why a signed request does not count. */
const spent: Record<Exclude<Acceptance, "new">, string> = {
  seen: "the signed request was used on this peel before, and counts once",
  over: "the signed request is older than one that this peel has forgotten",
  full: "this peel remembers as many jobs and requests as it can",
  damaged: "the record of jobs was damaged, so the signed request may have been used before",
};

/** How long after the deadline to keep trying to send the return of a read-only job. */
const graceMs = 60_000;
/** Number of read-only jobs to remember, so that a repeated job is answered only once. */
const rememberedJobs = 4096;

export interface WorkerOptions {
  connection: Connection;
  /** Encoded peel id. */
  peelId: string;
  /** Read for each command, because keys can be replaced. */
  commandKeys: { readonly current: readonly string[] };
  local: Local;
  /** Judges who asked for a command; absent on a peel that obeys masters. */
  insistence?: Insistence;
  /** Begins a span for each job. */
  tracer?: Tracer;
  clock: Clock;
  log: Log;
}

export interface Worker {
  /** Handles a signed command from the response to a hello. */
  take(command: Uint8Array): void;
  /** Handles a signed command for peels of its site, which this peel may not be one of. */
  takeForSite(jid: string, command: Uint8Array): void;
  stop(): void;
}

/**
 * Handles signed commands. Each job runs at most once, and always gets a return.
 *
 * A mutating job is recorded on disk and then acknowledged. It runs when the bus has stored the
 * acknowledgement, so a job that ran never counts as undelivered. Its return is on disk before the job counts
 * as done. A read-only job runs directly, and its return is its acknowledgement.
 */
export function startWorker(options: WorkerOptions): Worker {
  const { connection, peelId, tracer = untraced, clock, log } = options;
  const { dedup, executor, outbox, counts, upgrades } = options.local;
  const answered = createBoundedMap<true>(2 * rememberedJobs);
  const unconfirmed = createUnconfirmed(clock);
  /** Jobs that may be stopped without an operator: those that run without one, and the waves of rollouts. */
  const automatic = createBoundedMap<true>(rememberedJobs);

  type On = { kind: CommandKind; jid: string };
  const open = (bytes: Uint8Array, on: On | undefined, isForSite: boolean): Command | undefined => {
    const trust = { keys: options.commandKeys.current, now: clock.now() };
    try {
      if (isForSite) return openSiteCommand(bytes, { peel: peelId, jid: on?.jid ?? "" }, trust);
      return openCommand(bytes, { peel: peelId, ...defined({ on }) }, trust);
    } catch (thrown) {
      if (!(thrown instanceof CommandRefused)) throw thrown;
      counts.refused[thrown.reason]++;
      // Nothing in a command with an invalid signature is trusted, including its request id.
      const refused = thrown.command === undefined ? log : logOf(thrown.command);
      refused.warn("command refused", { jid: on?.jid, reason: thrown.message });
      return undefined;
    }
  };
  const logOf = ({ jid, body }: Command): Log => log.with({ jid, request_id: readRequestId(body) });
  const obey = (command: Command) => (command.kind === "stop" ? stop(command) : dispatch(command));

  const originOf = ({ jid }: Command) => ({ trigger: "job", jid }) as const;

  const dispatch = async (command: Command) => {
    const { jid } = command;
    if (answered.get(jid) || dedup.has(jid)) {
      counts.repeated++;
      logOf(command).debug("command came again");
      // Masters lack its return, if it was sent at all: this time they confirm it.
      const payload = unconfirmed.take(jid);
      if (payload !== undefined) put(command, payload, false);
      return;
    }
    let call: Call;
    try {
      call = decodeCall(command.body);
    } catch {
      answered.set(jid, true);
      report(command, failedReturn("the job is malformed", clock.now(), 0), false);
      return;
    }
    const consent = options.insistence?.dispatch(command, call);
    if (consent !== undefined && "refused" in consent) return refuse(command, consent.refused);
    const isFree = consent?.by === "automation" || (consent?.by === "operator" && consent.isWave);
    if (isFree) automatic.set(jid, true);
    if (executor.isReadOnly(call)) {
      const used = spend(command, consent);
      if (used !== undefined) return refuse(command, used);
      logOf(command).info("job taken", { function: call.function });
      answered.set(jid, true);
      const deadline = deadlineOf(command, consent);
      const span = traceOf(command, call);
      const result = await executor.run({ id: jid, call, origin: originOf(command), deadline });
      endTrace(span, result);
      answer(command, call, result);
    } else await change(command, call, consent);
  };

  /** From here to its end: also the time in the queue. */
  const traceOf = ({ jid, body }: Command, call: Call): Span =>
    tracer.begin(`run ${call.function}`, {
      kind: "consumer",
      attributes: { "svc.jid": jid, "svc.peel": peelId, "svc.function": call.function },
      ...defined({ parent: readTrace(body) }),
    });

  /** Tells the operator why this peel does not obey. */
  const refuse = (command: Command, reason: string) => {
    counts.refused.unsigned++;
    logOf(command).warn("command refused", { reason });
    answered.set(command.jid, true);
    const message = `not run, because this peel obeys operators only (require_operator): ${reason}`;
    report(command, failedReturn(message, clock.now(), 0), false);
  };

  /** Uses up the signed request of a command. @returns why that is not possible */
  const spend = (command: Command, consent: Consent | undefined): string | undefined => {
    if (consent?.by !== "operator") return undefined;
    try {
      const used = dedup.spend(consent, consent.until);
      logOf(command).debug("signed request used", { operator: consent.operator, result: used });
      return used === "new" ? undefined : spent[used];
    } catch (thrown) {
      return `it cannot be recorded that the request was used: ${describeError(thrown)}`;
    }
  };

  /** It may run no longer than the operator allowed, whatever the master says. */
  const deadlineOf = ({ deadline }: Command, consent: Consent | undefined): number =>
    consent?.by === "operator" ? Math.min(deadline, clock.now() + consent.timeoutMs) : deadline;

  /** Runs a mutating job. */
  const change = async (command: Command, call: Call, consent: Consent | undefined) => {
    const { jid, deadline } = command;
    if (executor.full) {
      dedup.close(jid, deadline, "done");
      report(command, busyReturn(clock.now()), true);
      return;
    }
    const refused = accept(command);
    if (refused === "silently") return;
    if (refused !== undefined) {
      answered.set(jid, true);
      report(command, refused, false);
      return;
    }
    // The job first: if this process ends here, the job is lost and the request is not used.
    const used = spend(command, consent);
    if (used !== undefined) {
      dedup.close(jid, deadline, "done");
      return refuse(command, used);
    }
    logOf(command).info("job taken", { function: call.function });
    const acknowledged = outbox.put({
      subject: ackSubject(jid, peelId),
      payload: encode({ accepted: true }),
      durable: false,
      until: deadline,
    });
    const ready = acknowledged.stored.then((isStored) => isStored || new Promise(() => {}));
    const progress = reportProgress({ connection, jid, peelId, clock });
    const output = call.follow === true ? reportOutput({ connection, jid, peelId, clock }) : undefined;
    const upgrade = upgrades?.({ jid, deadline });
    const span = traceOf(command, call);
    const result = await executor.run({
      id: jid,
      call,
      origin: originOf(command),
      deadline: deadlineOf(command, consent),
      ready,
      progress: progress.update,
      ...defined({ output: output?.add, upgrade }),
    });
    progress.stop();
    output?.stop();
    endTrace(span, result);
    // The stopped job may be an upgrade that continues without this process.
    if (result.outcome !== undefined && options.local.defer(jid)) return;
    const kept = report(command, result, true);
    // A return that is only in memory may be lost. Then the next start must report it.
    if (!kept.onDisk) await kept.stored;
    dedup.close(jid, deadline, "done");
  };

  /** @returns the return of a job that must not run */
  const accept = (command: Command): JobReturn | "silently" | undefined => {
    const { jid, deadline } = command;
    const now = clock.now();
    try {
      switch (dedup.accept(jid, deadline)) {
        case "new":
          return undefined;
        case "seen":
          return "silently";
        case "over":
          counts.refused.expired++;
          logOf(command).warn("command refused", {
            reason: "its deadline is before the deadline of a job that is already removed",
          });
          return "silently";
        case "full":
          return busyReturn(now);
        case "damaged":
          return failedReturn(
            "the peel's record of jobs was damaged: this job may have run before",
            now,
            0,
            "lost",
          );
      }
    } catch (thrown) {
      logOf(command).error("job refused: it cannot be recorded", { error: describeError(thrown) });
      return failedReturn(`not run, because the peel cannot record it: ${describeError(thrown)}`, now, 0);
    }
  };

  const stop = (command: Command) => {
    const { jid, deadline } = command;
    const consent = options.insistence?.stop(command, automatic.get(jid) === true);
    if (consent !== undefined && "refused" in consent) {
      counts.refused.unsigned++;
      logOf(command).warn("command refused", { reason: consent.refused });
      return;
    }
    const known = executor.cancel(jid);
    if (known === "cancelled") logOf(command).info("job cancelled while it ran or waited");
    if (known !== "unknown") return;
    if (answered.get(jid) || dedup.has(jid)) return;
    // It may still be on its way.
    dedup.close(jid, deadline, "cancelled");
    answered.set(jid, true);
    report(command, failedReturn("cancelled before it began", clock.now(), 0, "cancelled"), true);
  };

  /** Sends the return of a read-only job. Where masters ask again for what they lack, nothing needs to confirm it. */
  const answer = (command: Command, call: Call, result: JobReturn) => {
    const { jid, deadline } = command;
    const payload = done(command, result);
    // What waits already shows that the bus does not store everything now.
    const isFine = connection.connected && outbox.messages === 0;
    if (call.resends === true && isFine && unconfirmed.keep(jid, payload, deadline, result.duration_ms)) {
      connection.publish(returnSubject(jid, peelId), payload);
    } else put(command, payload, false);
  };

  const report = (command: Command, result: JobReturn, durable: boolean) =>
    put(command, done(command, result), durable);

  /** Counts and logs the end of a job, and encodes its return. */
  const done = (command: Command, result: JobReturn): Uint8Array => {
    const { success, outcome, duration_ms } = result;
    counts.jobs[outcome ?? (success ? "ok" : "failed")]++;
    logOf(command).info("job done", { success, outcome, duration_ms });
    return encode(fittingReturn(result));
  };

  const put = ({ jid, deadline }: Command, payload: Uint8Array, durable: boolean) =>
    outbox.put({
      subject: returnSubject(jid, peelId),
      payload,
      durable,
      ...(durable ? {} : { until: deadline + graceMs }),
    });

  const handle = (bytes: Uint8Array, on?: On, isForSite = false) => {
    const take = async () => {
      const command = open(bytes, on, isForSite);
      if (command !== undefined) await obey(command);
    };
    take().catch((thrown) => log.error("command lost", { ...on, error: describeError(thrown) }));
  };
  const listen = (kind: CommandKind, subject: string) =>
    connection.subscribe(subject, (arrivedOn, bytes) => {
      const jid = parseJobSubject(arrivedOn)?.jid;
      if (jid !== undefined) handle(bytes, { kind, jid });
    });
  listen("dispatch", dispatchSubject("*", peelId));
  listen("stop", stopSubject("*", peelId));
  return {
    take: (command) => handle(command),
    takeForSite: (jid, command) => handle(command, { kind: "dispatch", jid }, true),
    stop: unconfirmed.stop,
  };
}
