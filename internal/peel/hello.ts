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
const firstPauseMs = 10_000;
const longestPauseMs = 5 * 60_000;

export interface HelloOptions {
  connection: Connection;
  peelId: string;
  /** Takes what the masters say. When it fails they are asked again later. */
  onCluster(document: BootstrapDocument): Promise<void>;
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
      const hello = encode({ version, sent_at: rfc3339(clock.now()) });
      const answer = decode(await connection.request(helloSubject(peelId), hello, requestTimeoutMs));
      const document = parseDocument(clusterInfoOf(answer));
      if (document === undefined) throw new SvcError("unavailable", "the answer names no cluster");
      log.debug("masters answered hello");
      await options.onCluster(document);
      pauseMs = firstPauseMs;
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

function clusterInfoOf(answer: unknown): unknown {
  return typeof answer === "object" && answer !== null && "cluster_info" in answer
    ? answer.cluster_info
    : undefined;
}
