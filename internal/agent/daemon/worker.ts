import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { encode } from "../../base/msgpack.ts";
import { readRequestId } from "../../base/request-id.ts";
import { ackSubject, dispatchSubject, parseJobSubject, returnSubject, stopSubject } from "../../bus/mod.ts";
import {
  type Call,
  type Command,
  type CommandKind,
  CommandRefused,
  decodeCall,
  type JobReturn,
  openCommand,
} from "../../fleet/jobs/mod.ts";
import { busyReturn, failedReturn, fittingReturn, reportProgress } from "../execution/mod.ts";
import type { Connection } from "../link/mod.ts";
import type { Local } from "./local.ts";

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
  clock: Clock;
  log: Log;
}

export interface Worker {
  /** Handles a signed command from the response to a hello. */
  take(command: Uint8Array): void;
}

/**
 * Handles signed commands. Each job runs at most once, and always gets a return.
 *
 * A mutating job is recorded on disk and then acknowledged. It runs when the bus has stored the
 * acknowledgement, so a job that ran never counts as undelivered. Its return is on disk before the job counts
 * as done. A read-only job runs directly, and its return is its acknowledgement.
 */
export function startWorker(options: WorkerOptions): Worker {
  const { connection, peelId, clock, log } = options;
  const { dedup, executor, outbox, counts, upgrades } = options.local;
  const answered = createBoundedMap<true>(2 * rememberedJobs);

  const open = (bytes: Uint8Array, on?: { kind: CommandKind; jid: string }): Command | undefined => {
    try {
      const expected = on === undefined ? { peel: peelId } : { peel: peelId, on };
      return openCommand(bytes, expected, { keys: options.commandKeys.current, now: clock.now() });
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

  const dispatch = async (command: Command) => {
    const { jid } = command;
    if (answered.get(jid) || dedup.has(jid)) {
      counts.repeated++;
      logOf(command).debug("command came again");
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
    if (executor.isReadOnly(call)) {
      logOf(command).info("job taken", { function: call.function });
      answered.set(jid, true);
      report(command, await executor.run({ id: jid, call, deadline: command.deadline }), false);
    } else await change(command, call);
  };

  /** Runs a mutating job. */
  const change = async (command: Command, call: Call) => {
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
    logOf(command).info("job taken", { function: call.function });
    const acknowledged = outbox.put({
      subject: ackSubject(jid, peelId),
      payload: encode({ accepted: true }),
      durable: false,
      until: deadline,
    });
    const ready = acknowledged.stored.then((isStored) => isStored || new Promise(() => {}));
    const progress = reportProgress({ connection, jid, peelId, clock });
    const upgrade = upgrades?.({ jid, deadline });
    const result = await executor.run({
      id: jid,
      call,
      deadline,
      ready,
      progress: progress.update,
      ...defined({ upgrade }),
    });
    progress.stop();
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
    const known = executor.cancel(jid);
    if (known === "cancelled") logOf(command).info("job cancelled while it ran or waited");
    if (known !== "unknown") return;
    if (answered.get(jid) || dedup.has(jid)) return;
    // It may still be on its way.
    dedup.close(jid, deadline, "cancelled");
    answered.set(jid, true);
    report(command, failedReturn("cancelled before it began", clock.now(), 0, "cancelled"), true);
  };

  const report = (command: Command, result: JobReturn, durable: boolean) => {
    const { jid, deadline } = command;
    const { success, outcome, duration_ms } = result;
    counts.jobs[outcome ?? (success ? "ok" : "failed")]++;
    logOf(command).info("job done", { success, outcome, duration_ms });
    return outbox.put({
      subject: returnSubject(jid, peelId),
      payload: encode(fittingReturn(result)),
      durable,
      ...(durable ? {} : { until: deadline + graceMs }),
    });
  };

  const handle = (bytes: Uint8Array, on?: { kind: CommandKind; jid: string }) => {
    const take = async () => {
      const command = open(bytes, on);
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
  return { take: (command) => handle(command) };
}
