import { type BoundedMap, createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import { readRequestId } from "../../base/request-id.ts";
import { returnSubject } from "../../bus/subjects/subjects.ts";
import type { Call } from "../../wire/call.ts";
import type { Command } from "../../wire/command.ts";
import { encodeReturn, type JobReturn } from "../../wire/return.ts";
import { createUnconfirmed, fittingReturn } from "../execution/mod.ts";
import type { Connection, Outbox } from "../link/mod.ts";
import type { Local } from "./local.ts";

/** How long after the deadline to keep trying to send the return of a read-only job. */
const graceMs = 60_000;
/** Number of read-only jobs to remember, so that a repeated job is answered only once. */
export const rememberedJobs = 4096;

/** Sends the returns of jobs. */
export interface Returns {
  /** Jobs that have a return, or will have one: their commands do not count again. */
  answered: BoundedMap<true>;
  /** Sends a return, and again until the bus has stored it. @param durable also after a restart of the peel */
  report(command: Command, result: JobReturn, durable: boolean): ReturnType<Outbox["put"]>;
  /**
   * Sends the return of a read-only job. Where masters ask again for what they lack, nothing needs to confirm it.
   */
  answer(command: Command, call: Call, result: JobReturn): void;
  /** Sends the return of a job that came after its deadline, on the clock of this host: it counts from now. */
  reportLate(command: Command, result: JobReturn): void;
  /** Masters lack the return of a job, if it was sent at all: this time they confirm it. */
  repeat(command: Command): void;
  stop(): void;
}

export function createReturns(options: {
  connection: Connection;
  peelId: string;
  local: Pick<Local, "outbox" | "counts">;
  clock: Clock;
  log: Log;
}): Returns {
  const { connection, peelId, clock, log } = options;
  const { outbox, counts } = options.local;
  const unconfirmed = createUnconfirmed(clock);
  /** Counts and logs the end of a job, and encodes its return. */
  const done = (command: Command, result: JobReturn): Uint8Array => {
    const { success, outcome, duration_ms } = result;
    counts.jobs[outcome ?? (success ? "ok" : "failed")]++;
    logOf(log, command).info("job done", { success, outcome, duration_ms });
    return encodeReturn(fittingReturn(result));
  };
  const put = ({ jid, deadline }: Pick<Command, "jid" | "deadline">, payload: Uint8Array, durable: boolean) =>
    outbox.put({
      ...{ subject: returnSubject(jid, peelId), payload, durable },
      ...defined({ until: durable ? undefined : deadline + graceMs }),
    });
  return {
    answered: createBoundedMap<true>(2 * rememberedJobs),
    report: (command, result, durable) => put(command, done(command, result), durable),
    reportLate(command, result) {
      put({ jid: command.jid, deadline: clock.now() }, done(command, result), false);
    },
    answer(command, call, result) {
      const { jid, deadline } = command;
      const payload = done(command, result);
      // What waits already shows that the bus does not store everything now.
      const isFine = connection.connected && outbox.messages === 0;
      if (call.resends === true && isFine && unconfirmed.retain(jid, payload, deadline, result.duration_ms)) {
        connection.publish(returnSubject(jid, peelId), payload);
      } else put(command, payload, false);
    },
    repeat(command) {
      const payload = unconfirmed.take(command.jid);
      if (payload !== undefined) put(command, payload, false);
    },
    stop: unconfirmed.stop,
  };
}

/** A log that names the job of a command. */
export const logOf = (log: Log, { jid, body }: Command): Log =>
  log.with({ jid, request_id: readRequestId(body) });
