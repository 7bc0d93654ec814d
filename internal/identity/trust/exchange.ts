import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";

const tls13 = 772;

/** Who may answer: the holder of a certificate below this CA, or below one of the system's; or anybody. */
export type Verify = { ca: string | undefined } | "nobody";

export interface ExchangeOptions {
  url: string;
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  body?: string;
  verify: Verify;
  /** Milliseconds for the whole answer. */
  timeoutMs: number;
  maxBytes: number;
  clock: Clock;
  signal: AbortSignal;
}

/** An answer that was read to its end. */
export interface Exchanged {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Sends one HTTPS request and reads the answer, bounded in time and size. Redirects are never followed.
 *
 * @throws SvcError `unavailable` for a redirect, an answer that is too long or too late; the
 *   signal's reason; what the network and the certificate check throw
 */
export async function exchange(options: ExchangeOptions): Promise<Exchanged> {
  const patience = startPatience(options.clock, options.signal, options.timeoutMs);
  try {
    const response = await openExchange(options, patience.signal);
    return {
      status: response.status,
      headers: response.headers,
      text: await readText(response, options.maxBytes),
    };
  } catch (thrown) {
    patience.giveUp();
    throw patience.reason ?? thrown;
  } finally {
    patience.end();
  }
}

/** Sends the request and returns at the head of the answer. @throws like `exchange` */
export async function openExchange(
  options: Pick<ExchangeOptions, "url" | "method" | "headers" | "body" | "verify">,
  signal: AbortSignal,
): Promise<Response> {
  const response = await fetch(options.url, {
    method: options.method ?? "GET",
    // Without compression the bytes that are counted are the bytes that came.
    headers: { "Accept-Encoding": "identity", ...options.headers },
    ...defined({ body: options.body }),
    tls: tlsOf(options.verify),
    redirect: "manual",
    // A connection to nobody in particular is not used a second time.
    keepalive: options.verify !== "nobody",
    signal,
  });
  if (response.status >= 300 && response.status < 400 && response.status !== 304) {
    throw new SvcError("unavailable", `a redirect (status ${response.status}), which is never followed`);
  }
  return response;
}

/** A time limit that can be extended, and leaves nothing behind on the signal it obeys. */
export interface Patience {
  readonly signal: AbortSignal;
  /** Why it ended, once it has; the parent's reason or that time ran out. */
  readonly reason: unknown;
  /** Starts the time anew. */
  extend(ms: number): void;
  giveUp(): void;
  /** Must be called in the end. */
  end(): void;
}

/**
 * Limits one request. `AbortSignal.any` and `AbortSignal.timeout` would do the same, and leave a little
 * memory on the parent each time: too much for a peel that waits for weeks.
 */
export function startPatience(clock: Clock, parent: AbortSignal, ms: number): Patience {
  const controller = new AbortController();
  let reason: unknown;
  const stop = (why: unknown) => {
    reason ??= why;
    controller.abort(why);
  };
  const late = () => stop(new SvcError("unavailable", "no answer in time"));
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

/** TLS 1.3, and verified whatever NODE_TLS_REJECT_UNAUTHORIZED says: unset it would follow that. */
function tlsOf(verify: Verify): BunFetchRequestInitTLS {
  if (verify === "nobody") return { rejectUnauthorized: false, minVersion: tls13 } as BunFetchRequestInitTLS;
  return {
    rejectUnauthorized: true,
    minVersion: tls13,
    ...defined({ ca: verify.ca }),
  } as BunFetchRequestInitTLS;
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > maxBytes) throw new SvcError("unavailable", `an answer of more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
