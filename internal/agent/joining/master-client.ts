import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { requestIdOf } from "../../base/request-id.ts";
import {
  type Anchor,
  exchange,
  openExchange,
  startTimeout,
  type Trust,
  TrustError,
} from "../../identity/trust/mod.ts";
import { parseObject, readEvents } from "./events.ts";

const requestTimeoutMs = 15_000;
/** Three heartbeats of the stream (specification, "Limits"): longer silence means a dead connection. */
const streamSilenceMs = 90_000;
const pauses = { firstMs: 1_000, maxMs: 60_000 };
const maxRetryAfterMs = 5 * 60_000;
const maxAnswerBytes = 1024 * 1024;

/** A final response of a master: 2xx or 4xx. */
export interface Answer {
  status: number;
  body: Record<string, unknown>;
  /** Identifies the request in the master's log. */
  requestId?: string;
  /** SPKI pin of the root that verified the master, where it is known. */
  verifiedBy?: string;
}

export interface RequestOptions {
  headers?: Record<string, string>;
  /** Builds the JSON body from the SPKI pin of the root that verified the master. */
  body?: (trustedSpki: string | undefined) => Record<string, unknown>;
  /** Maximum number of failed attempts. Absent means the default of the client. */
  attempts?: number;
  /** Whether no master would answer otherwise; by default unless the status is 429 or 5xx. */
  isFinal?(answer: Answer): boolean;
}

/** A client for several masters. It stays with a master that works. */
export interface MasterClient {
  /**
   * Sends one request. If a master does not respond, tries the next one.
   *
   * @throws TrustError when the verification of a master fails, SvcError `unavailable` after the last attempt,
   *   or the signal's reason
   */
  request(method: "GET" | "POST", path: string, options?: RequestOptions): Promise<Answer>;
  /**
   * Reads server-sent events from the current master until the stream ends or `onEvent` returns true. If the
   * master is unreachable, the next one becomes current.
   *
   * @throws as `request` does, but never `unavailable`
   */
  stream(path: string, onEvent: (event: string, data: Record<string, unknown>) => boolean): Promise<void>;
}

export interface MasterClientOptions {
  /** Base URLs in order of preference, at least one. */
  urls: readonly string[];
  trust: Trust;
  clock: Clock;
  /** A number in [0, 1) for jitter. */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
  /** Maximum number of failed attempts of each request. Absent means unlimited. */
  attempts?: number;
}

export function createMasterClient(options: MasterClientOptions): MasterClient {
  const { urls, trust, clock, log, signal } = options;
  let at = 0;
  const current = () => urls[at % urls.length] ?? "";
  return {
    async request(method, path, requested = {}) {
      const attempts = requested.attempts ?? options.attempts;
      const backoff = createBackoff({ ...pauses, jitter: options.jitter });
      for (let failures = 1; ; failures++) {
        const url = current();
        const tried = await tryOnce(options, { url, path, method, requested });
        if ("answer" in tried) return tried.answer;
        const { reason, requestId, isBusy, retryAfterMs = 0 } = tried;
        // A master that sends 429 is alive: switch to the next one only after other failures.
        if (!isBusy) at++;
        if (failures === attempts) {
          throw new SvcError("unavailable", `no master responded at ${urls.join(", ")}: ${reason}`);
        }
        const waitMs = Math.round(Math.max(backoff.next() * (isBusy ? 2 : 1), retryAfterMs));
        log.warn(isBusy ? "master asks to come later" : "master did not answer", {
          url,
          reason,
          request_id: requestId,
          next_url: current(),
          retry_in_ms: waitMs,
        });
        await sleep(clock, waitMs, signal);
      }
    },
    async stream(path, onEvent) {
      const url = current();
      const timeout = startTimeout(clock, signal, requestTimeoutMs);
      try {
        await trust.use(url, async ({ ca }) => {
          const response = await openExchange(
            { url: `${url}${path}`, headers: { Accept: "text/event-stream" }, verify: { ca } },
            timeout.signal,
          );
          if (response.status >= 500) throw new SvcError("unavailable", `status ${response.status}`);
          if (response.status !== 200 || response.body === null) return;
          timeout.extend(streamSilenceMs);
          await readEvents(response.body, () => timeout.extend(streamSilenceMs), onEvent);
        });
      } catch (thrown) {
        signal.throwIfAborted();
        if (thrown instanceof TrustError) throw thrown;
        at++;
        log.debug("status stream ended", { url, reason: describeError(timeout.reason ?? thrown) });
      } finally {
        timeout.giveUp();
        timeout.end();
      }
    },
  };
}

interface Request {
  url: string;
  path: string;
  method: "GET" | "POST";
  requested: RequestOptions;
}

/** A request that must be sent again. */
interface Failure {
  reason: string;
  requestId?: string;
  /** The master is alive, and has too many requests. */
  isBusy: boolean;
  /** How long the master wants to be left alone. */
  retryAfterMs?: number;
}

/** @throws TrustError when the verification of the master fails, or the signal's reason */
async function tryOnce(
  options: MasterClientOptions,
  request: Request,
): Promise<{ answer: Answer } | Failure> {
  const { trust, jitter, signal } = options;
  try {
    const answer = await trust.use(request.url, (anchor) => attempt(options, request, anchor));
    const { status, body, verifiedBy, headers } = answer;
    const requestId = requestIdOf(headers.get("x-request-id"));
    const received: Answer = { status, body, ...defined({ requestId, verifiedBy }) };
    if ((status < 500 && status !== 429) || request.requested.isFinal?.(received) === true) {
      return { answer: received };
    }
    const isBusy = status === 429;
    const reason = isBusy ? "status 429: too many requests from this address" : `status ${status}`;
    return { reason, isBusy, retryAfterMs: retryAfterMs(headers, jitter()), ...defined({ requestId }) };
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof TrustError) throw thrown;
    return { reason: describeError(thrown), isBusy: false };
  }
}

async function attempt(
  { clock, signal }: MasterClientOptions,
  { url, path, method, requested: { body, headers } }: Request,
  { ca, spki }: Anchor,
) {
  const answer = await exchange({
    url: `${url}${path}`,
    method,
    headers: {
      Accept: "application/json",
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...defined({ body: body && JSON.stringify(body(spki)) }),
    verify: { ca },
    timeoutMs: requestTimeoutMs,
    maxBytes: maxAnswerBytes,
    clock,
    signal,
  });
  return { ...answer, body: parseObject(answer.text), verifiedBy: spki };
}

/** The `Retry-After` time in milliseconds, plus jitter. */
function retryAfterMs(headers: Headers, jitter: number): number {
  const seconds = Number(headers.get("retry-after") ?? "");
  const requested = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
  return Math.min(requested, maxRetryAfterMs) * (1 + jitter / 2);
}
