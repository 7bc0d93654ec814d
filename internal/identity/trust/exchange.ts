import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { networkWords } from "./network-words.ts";

const tls13 = 772;
const tls12 = 771;

/**
 * How to verify the server: with this CA, with the system trust store, or not at all. With `tls12` an earlier TLS than
 * 1.3 will do, for servers that are not of a fleet.
 */
export type Verify = { ca: string | undefined; tls12?: true } | "nobody";

export interface ExchangeOptions {
  url: string;
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  body?: string;
  verify: Verify;
  /** Timeout of the whole exchange in milliseconds. */
  timeoutMs: number;
  maxBytes: number;
  clock: Clock;
  signal: AbortSignal;
}

/** A complete response. */
export interface Exchanged {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Sends one HTTPS request and reads the response, bounded in time and size. Never follows redirects.
 *
 * @throws SvcError `unavailable` for a redirect, a response that is too large, or a timeout; the reason of
 *   the signal; errors of the network and of certificate verification
 */
export async function exchange(options: ExchangeOptions): Promise<Exchanged> {
  const timeout = startTimeout(options.clock, options.signal, options.timeoutMs);
  try {
    const response = await openExchange(options, timeout.signal);
    return {
      status: response.status,
      headers: response.headers,
      text: await readText(response, options.maxBytes),
    };
  } catch (thrown) {
    timeout.giveUp();
    throw timeout.reason ?? thrown;
  } finally {
    timeout.end();
  }
}

/** Sends the request and returns when the response headers arrive. @throws as `exchange` does */
export async function openExchange(
  options: Pick<ExchangeOptions, "url" | "method" | "headers" | "body" | "verify">,
  signal: AbortSignal,
): Promise<Response> {
  const response = await send(options.url, {
    method: options.method ?? "GET",
    // Without compression the limit counts the bytes that were received.
    headers: { "Accept-Encoding": "identity", ...options.headers },
    ...defined({ body: options.body }),
    tls: tlsOf(options.verify),
    redirect: "manual",
    // A connection to an unverified server is not reused.
    keepalive: options.verify !== "nobody",
    signal,
  });
  if (response.status >= 300 && response.status < 400 && response.status !== 304) {
    throw new SvcError("unavailable", `a redirect (status ${response.status}); redirects are never followed`);
  }
  return response;
}

/** Sends it. @throws SvcError `unavailable` for what goes wrong below TLS, in words of our own */
async function send(url: string, init: BunFetchRequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
    const words = networkWords(code, new URL(url).hostname);
    throw words === undefined ? thrown : new SvcError("unavailable", words);
  }
}

/** A deadline that can be extended. It leaves no listener on its parent signal. */
export interface Timeout {
  readonly signal: AbortSignal;
  /** Why it ended: the parent's reason, or the timeout. `undefined` before that. */
  readonly reason: unknown;
  /** Restarts the timeout. */
  extend(ms: number): void;
  giveUp(): void;
  /** Releases the timer and the listener. Always call it. */
  end(): void;
}

/**
 * Starts the deadline of one request. `AbortSignal.any` and `AbortSignal.timeout` would do the same, but
 * leak a little memory on the parent each time: too much for a peel that waits for weeks.
 */
export function startTimeout(clock: Clock, parent: AbortSignal, ms: number): Timeout {
  const controller = new AbortController();
  let reason: unknown;
  const stop = (why: unknown) => {
    reason ??= why;
    controller.abort(why);
  };
  const late = () => stop(new SvcError("unavailable", "no response in time"));
  const obey = () => stop(parent.reason);
  let timer = clock.after(ms, late);
  parent.addEventListener("abort", obey, { once: true });
  if (parent.aborted) obey();
  return {
    signal: controller.signal,
    get reason() {
      return reason;
    },
    extend(more) {
      timer.cancel();
      timer = clock.after(more, late);
    },
    giveUp: () => controller.abort(),
    end() {
      timer.cancel();
      parent.removeEventListener("abort", obey);
    },
  };
}

/** TLS 1.3 unless less will do. Sets verification explicitly: otherwise NODE_TLS_REJECT_UNAUTHORIZED would control it. */
function tlsOf(verify: Verify): BunFetchRequestInitTLS {
  if (verify === "nobody") return { rejectUnauthorized: false, minVersion: tls13 } as BunFetchRequestInitTLS;
  return {
    rejectUnauthorized: true,
    minVersion: verify.tls12 === true ? tls12 : tls13,
    ...defined({ ca: verify.ca }),
  } as BunFetchRequestInitTLS;
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > maxBytes) throw new SvcError("unavailable", `a response of more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
