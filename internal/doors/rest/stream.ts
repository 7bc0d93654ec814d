import { type Clock, sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { escapeInvisible } from "../../base/invisible.ts";
import { jsonText } from "../../base/json-text.ts";
import type { FeedSink } from "../../fleet/operation/mod.ts";

/** The output for a producer of server-sent events. */
export type EventSink = FeedSink;

export interface StreamOptions {
  clock: Clock;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  heartbeatMs: number;
  maxDurationMs: number;
  /** How soon a client that was cut off should come back; absent means as it likes. */
  retryMs?: number;
  /** Starts producing; returns a function that stops it, which is called exactly once. */
  start(sink: EventSink): () => void;
}

const encoder = new TextEncoder();
/** What waits for a client, besides what the system keeps for its connection. */
const maxQueuedBytes = 256 * 1024;
/** A client that takes nothing for this time is cut off. */
const patienceMs = 60_000;

/**
 * A stream of server-sent events (WHATWG HTML, section 9.2) with a heartbeat comment and an end: when the
 * producer ends it, when the client leaves, or with a `timeout` event.
 */
export function eventStream(options: StreamOptions): Response {
  const { clock, signal } = options;
  let finish = () => {};
  let drained = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let done = false;
        const write = (text: string) => {
          if (!done) controller.enqueue(encoder.encode(text));
        };
        const hasRoom = () => (controller.desiredSize ?? 0) > 0;
        const sink: EventSink = {
          send(event, data, id) {
            const place = id === undefined ? "" : `id: ${id}\n`;
            write(`${place}event: ${event}\ndata: ${escapeInvisible(jsonText(data))}\n\n`);
          },
          // Without data it is not an event: it only sets the place from which the client continues.
          mark: (id) => write(`id: ${id}\n\n`),
          // A reader that takes nothing does not learn it later.
          beat() {
            if (hasRoom()) write("event: alive\ndata: {}\n\n");
          },
          hasRoom,
          async ready(stopping) {
            const patience = AbortSignal.any([stopping, signal]);
            for (const since = clock.monotonic(); !hasRoom() && !done; ) {
              const leftMs = since + patienceMs - clock.monotonic();
              if (leftMs <= 0) throw new SvcError("unavailable", "the client reads too slowly");
              drained = Promise.withResolvers();
              const over = new AbortController();
              const wait = sleep(clock, leftMs, AbortSignal.any([patience, over.signal]));
              await Promise.race([drained.promise, wait]).finally(() => over.abort());
            }
          },
          close: () => finish(),
        };
        let stop: (() => void) | undefined;
        finish = () => {
          if (done) return;
          done = true;
          heartbeat.cancel();
          limit.cancel();
          signal.removeEventListener("abort", finish);
          stop?.();
          try {
            controller.close();
          } catch {
            // The client left first.
          }
        };
        const heartbeat = clock.every(options.heartbeatMs, () => {
          if (hasRoom()) write(": heartbeat\n\n");
        });
        const limit = clock.after(options.maxDurationMs, () => {
          sink.send("timeout", { message: "stream duration exceeded" });
          finish();
        });
        signal.addEventListener("abort", finish, { once: true });
        if (options.retryMs !== undefined) write(`retry: ${options.retryMs}\n\n`);
        stop = options.start(sink);
        if (done) stop();
      },
      pull: () => drained.resolve(),
      cancel: () => finish(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: maxQueuedBytes }),
  );
  return new Response(body, {
    headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-cache", Connection: "keep-alive" },
  });
}
