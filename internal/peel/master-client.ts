import { type Clock, sleep } from "../base/clock.ts";
import { describeError, SvcError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Rung } from "../trust/ladder.ts";
import { type Anchor, establishAnchor, isCertificateError, TrustError, tlsOptions } from "../trust/verify.ts";

const requestTimeoutMs = 15_000;
const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
const maxAnswerBytes = 1024 * 1024;

/** A master's final answer: 2xx or 4xx. */
export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** A client of the masters that knows several and stays with the one that works. */
export interface MasterClient {
  /**
   * Sends one request, to the next master when one does not answer, until one does.
   *
   * @throws TrustError when a certificate does not verify, or the signal's reason
   */
  request(
    method: "GET" | "POST",
    path: string,
    init?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
  /**
   * Reads server-sent events until the stream ends.
   *
   * @returns whether the stream could be opened at all
   */
  stream(path: string, onEvent: (event: string, data: Record<string, unknown>) => void): Promise<boolean>;
  /** How the current master is verified. */
  anchor(): Promise<Anchor>;
}

export interface MasterClientOptions {
  /** Base URLs in order of preference. */
  urls: readonly string[];
  rung: Rung;
  clock: Clock;
  /** A number in [0, 1) for jitter. */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
  /** Gives up after so many failed attempts; absent means never. */
  maxAttempts?: number;
}

export function createMasterClient(options: MasterClientOptions): MasterClient {
  const { urls, clock, log, signal } = options;
  let at = 0;
  let established: Anchor | undefined;
  const current = () => urls[at % urls.length] ?? "";

  const anchor = async () => {
    established ??= await establishAnchor(options.rung, current(), log);
    return established;
  };
  const send = async (path: string, init: RequestInit): Promise<Response> =>
    fetch(`${current()}${path}`, { ...init, tls: tlsOptions(await anchor()), redirect: "error" });

  const attempt = async (
    method: string,
    path: string,
    init: { body?: unknown; headers?: Record<string, string> },
  ) => {
    const response = await send(path, {
      method,
      headers: {
        Accept: "application/json",
        ...(init.body === undefined ? {} : { "Content-Type": "application/json" }),
        ...init.headers,
      },
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
    });
    const text = await response.text();
    if (text.length > maxAnswerBytes) throw new SvcError("unavailable", "the answer is too long");
    return { status: response.status, body: parseObject(text) };
  };

  return {
    anchor,
    async request(method, path, init = {}) {
      for (let failures = 1; ; failures++) {
        let reason: string;
        try {
          const answer = await attempt(method, path, init);
          if (answer.status < 500 && answer.status !== 429) return answer;
          reason = `status ${answer.status}`;
          // A master that asks for patience is alive: only a broken one is left for the next.
          if (answer.status >= 500) at++;
        } catch (thrown) {
          signal.throwIfAborted();
          if (thrown instanceof TrustError) throw thrown;
          if (isCertificateError(thrown)) {
            throw new TrustError(`the certificate of ${current()} does not verify: ${describeError(thrown)}`);
          }
          reason = describeError(thrown);
          at++;
        }
        if (failures === options.maxAttempts) {
          throw new SvcError("unavailable", `no master answered at ${urls.join(", ")}: ${reason}`);
        }
        const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 10));
        const waitMs = Math.round(pause * (0.5 + options.jitter() / 2));
        log.warn("master did not answer", { reason, next_url: current(), retry_in_ms: waitMs });
        await sleep(clock, waitMs, signal);
      }
    },
    async stream(path, onEvent) {
      try {
        const response = await send(path, { headers: { Accept: "text/event-stream" }, signal });
        if (!response.ok || response.body === null) {
          await response.body?.cancel();
          return false;
        }
        await readEvents(response.body, onEvent);
        return true;
      } catch (thrown) {
        signal.throwIfAborted();
        if (thrown instanceof TrustError) throw thrown;
        log.debug("status stream ended", { reason: describeError(thrown) });
        return false;
      }
    },
  };
}

const maxEventBytes = 64 * 1024;

async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (event: string, data: Record<string, unknown>) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let buffer = "";
  for await (const chunk of body) {
    buffer += decoder.decode(chunk, { stream: true });
    for (let end = buffer.indexOf("\n\n"); end >= 0; end = buffer.indexOf("\n\n")) {
      const block = buffer.slice(0, end);
      buffer = buffer.slice(end + 2);
      const event = /^event: (.+)$/m.exec(block)?.[1];
      const data = /^data: (.+)$/m.exec(block)?.[1];
      if (event !== undefined) onEvent(event, parseObject(data ?? "{}"));
    }
    if (buffer.length > maxEventBytes) throw new SvcError("unavailable", "an event is too long");
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}
