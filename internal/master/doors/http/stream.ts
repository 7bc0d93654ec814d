import type { Clock } from "../../../base/clock.ts";

/** The output for a producer of server-sent events. */
export interface EventSink {
  /** Sends one event with a JSON data line. */
  send(event: string, data: unknown): void;
  /** Ends the stream. */
  close(): void;
}

export interface StreamOptions {
  clock: Clock;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  heartbeatMs: number;
  maxDurationMs: number;
  /** Starts producing; returns a function that stops it, which is called exactly once. */
  start(sink: EventSink): () => void;
}

const encoder = new TextEncoder();

/**
 * A stream of server-sent events (WHATWG HTML, section 9.2) with a heartbeat comment and an end: when the
 * producer ends it, when the client leaves, or with a `timeout` event.
 */
export function eventStream(options: StreamOptions): Response {
  const { clock, signal } = options;
  let finish = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      let done = false;
      const write = (text: string) => {
        if (!done) controller.enqueue(encoder.encode(text));
      };
      const sink: EventSink = {
        send: (event, data) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
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
      const heartbeat = clock.every(options.heartbeatMs, () => write(": heartbeat\n\n"));
      const limit = clock.after(options.maxDurationMs, () => {
        sink.send("timeout", { message: "stream duration exceeded" });
        finish();
      });
      signal.addEventListener("abort", finish, { once: true });
      stop = options.start(sink);
      if (done) stop();
    },
    cancel: () => finish(),
  });
  return new Response(body, {
    headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-cache", Connection: "keep-alive" },
  });
}
