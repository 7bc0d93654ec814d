import type { Clock, Timer } from "../base/clock.ts";
import { rfc3339 } from "../base/clock.ts";
import { describeError, SvcError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { decode, encode } from "../base/msgpack.ts";
import { version } from "../base/version.ts";
import { type BootstrapDocument, parseDocument } from "../bootstrap/document.ts";
import { helloSubject, keySubject } from "../bus/subjects.ts";
import type { Connection } from "./connection.ts";

const requestTimeoutMs = 5_000;
/** A fleet that learns of a change in one moment asks spread over this time. */
const hintSpreadMs = 10_000;
const connectSpreadMs = 2_000;
/** After a restart of the bus a peel is often back before any master is. */
const firstPauseMs = 2_000;
const longestPauseMs = 5 * 60_000;
/** The masters tell the rest of what was missed when they are asked again. */
const morePauseMs = 500;
const mostCommands = 256;
/** Deadlines are compared with this host's clock; one that is further off makes commands void. */
const skewWarningMs = 5_000;

export interface HelloOptions {
  connection: Connection;
  peelId: string;
  /** Takes what the masters say. When it fails they are asked again later. */
  onCluster(document: BootstrapDocument): Promise<void>;
  /** Takes a signed command that the peel missed. */
  onCommand(command: Uint8Array): void;
  clock: Clock;
  jitter: () => number;
  log: Log;
}

/**
 * Says hello to the masters after each connect, and when the published cluster information changes. What
 * comes on the subject of that change is a hint and is not even read: the value is the masters' answer.
 */
export function startHello(options: HelloOptions): { stop(): void } {
  const { connection, peelId, clock, log } = options;
  let timer: Timer | undefined;
  let dueAt = 0;
  let asking = false;
  let askAgain = false;
  let stopped = false;
  let pauseMs = firstPauseMs;

  const schedule = (inMs: number) => {
    if (stopped) return;
    const at = clock.monotonic() + inMs;
    if (timer !== undefined && dueAt <= at) return;
    timer?.cancel();
    dueAt = at;
    timer = clock.after(inMs, () => {
      timer = undefined;
      void ask();
    });
  };
  const soon = (spreadMs: number) => {
    pauseMs = firstPauseMs;
    if (asking) askAgain = true;
    else schedule(Math.round(spreadMs * options.jitter()));
  };
  const ask = async () => {
    if (!connection.connected) return;
    asking = true;
    try {
      const sentAt = clock.now();
      const hello = encode({ version, sent_at: rfc3339(sentAt) });
      const answer = readAnswer(await connection.request(helloSubject(peelId), hello, requestTimeoutMs));
      log.debug("masters answered hello", { commands: answer.jobs.length, more: answer.more });
      warnOfSkew(answer.serverTime, { sentAt, receivedAt: clock.now() }, log);
      for (const command of answer.jobs) options.onCommand(command);
      const document = parseDocument(answer.clusterInfo);
      if (document === undefined) throw new SvcError("unavailable", "the answer names no cluster");
      await options.onCluster(document);
      pauseMs = firstPauseMs;
      if (answer.more) schedule(morePauseMs);
    } catch (thrown) {
      log.debug("no answer to hello", { reason: describeError(thrown), retry_in_ms: pauseMs });
      schedule(Math.round(pauseMs * (0.5 + options.jitter() / 2)));
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    } finally {
      asking = false;
      if (askAgain) {
        askAgain = false;
        schedule(Math.round(hintSpreadMs * options.jitter()));
      }
    }
  };

  connection.subscribe(keySubject("secrets", "_cluster_info"), () => soon(hintSpreadMs));
  const unsubscribe = connection.onConnect(() => soon(connectSpreadMs));
  return {
    stop() {
      stopped = true;
      timer?.cancel();
      unsubscribe();
    },
  };
}

interface Answer {
  clusterInfo: unknown;
  /** Milliseconds since the Unix epoch; NaN when the masters did not say. */
  serverTime: number;
  jobs: Uint8Array[];
  more: boolean;
}

/** What it says of the cluster is checked by who takes it; later masters may say more. */
function readAnswer(bytes: Uint8Array): Answer {
  const value = decode(bytes);
  const map = typeof value === "object" && value !== null ? { ...value } : {};
  const { cluster_info, server_time, jobs, more } = map as Record<string, unknown>;
  const commands = Array.isArray(jobs) ? jobs : [];
  return {
    clusterInfo: cluster_info,
    serverTime: typeof server_time === "string" ? Date.parse(server_time) : Number.NaN,
    jobs: commands.filter((item) => item instanceof Uint8Array).slice(0, mostCommands),
    more: more === true,
  };
}

/** The masters' time was some moment between asking and hearing; only what is beyond that is a difference. */
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
