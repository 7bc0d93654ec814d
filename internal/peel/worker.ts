import { type Clock, sleep } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { encode } from "../base/msgpack.ts";
import { ackSubject, dispatchSubject, parseJobSubject, returnSubject } from "../bus/subjects.ts";
import { decodeCall } from "../jobs/call.ts";
import { openCommand } from "../jobs/command.ts";
import { execute } from "../jobs/execute.ts";
import type { Connection } from "./connection.ts";

const requestTimeoutMs = 5_000;
const firstPauseMs = 500;
const longestPauseMs = 30_000;
/** How many jobs are remembered, so that a repeated dispatch runs nothing twice. */
const rememberedJobs = 4096;

export interface WorkerOptions {
  connection: Connection;
  peelId: string;
  /** Asked for each command, as keys are replaced. */
  commandKeys: { readonly current: readonly string[] };
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** Takes signed commands from the bus, runs them, and delivers each return until a master has it. */
export function startWorker(options: WorkerOptions): void {
  const { connection, peelId, clock, log, signal } = options;
  const seen = new Set<string>();

  const deliver = async (subject: string, payload: Uint8Array) => {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        await connection.request(subject, payload, requestTimeoutMs);
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        log.warn("not stored by the bus yet", {
          subject,
          reason: describeError(thrown),
          retry_in_ms: pauseMs,
        });
      }
      await sleep(clock, pauseMs, signal);
    }
  };

  const handle = async (subject: string, data: Uint8Array) => {
    const parsed = parseJobSubject(subject);
    if (parsed === undefined) return;
    const { jid } = parsed;
    let body: Uint8Array;
    try {
      const expected = { kind: "dispatch" as const, jid, peel: peelId };
      body = openCommand(data, expected, { keys: options.commandKeys.current, now: clock.now() }).body;
    } catch (thrown) {
      log.warn("command refused", { jid, reason: describeError(thrown) });
      return;
    }
    if (seen.has(jid)) return;
    seen.add(jid);
    for (const oldest of seen) {
      if (seen.size <= rememberedJobs) break;
      seen.delete(oldest);
    }
    await deliver(ackSubject(jid, peelId), encode({ accepted: true }));
    const result = await execute(decodeCall(body), { clock, signal });
    log.info("job done", { jid, success: result.success, duration_ms: result.duration_ms });
    await deliver(returnSubject(jid, peelId), encode(result));
  };

  connection.subscribe(dispatchSubject("*", peelId), (subject, data) => {
    handle(subject, data).catch((thrown) => {
      if (!signal.aborted) log.error("job lost", { subject, error: describeError(thrown) });
    });
  });
}
