import { isIP, isIPv6 } from "node:net";
import { abortable } from "../../base/abortable.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/file.ts";
import type { Plain } from "../../base/msgpack.ts";
import { version } from "../../base/version.ts";
import type { WebhookAddresses } from "./webhook-address.ts";

const timeoutMs = 10_000;
/** Backoff before the second and the third attempt. */
const pausesMs = [1_000, 4_000];
const maxTokenLength = 4_096;

/** One call of a webhook. */
export interface WebhookCall {
  url: string;
  /** File of the bearer token. */
  tokenFile?: string;
  body: Plain;
  /** Idempotency key: the same for every repetition of this call. */
  key: string;
}

export interface WebhookDeps {
  fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>;
  /** Addresses of a host, in the order in which they are tried. */
  lookup: (host: string) => Promise<readonly string[]>;
  addresses: WebhookAddresses;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  signal: AbortSignal;
}

/**
 * Posts JSON to a webhook. Retries up to twice after a timeout of 10 s, and after status 429 or 5xx. The
 * response body is not read. A redirect is a failure: the token and the event are only for the URL in the
 * rule. Each attempt connects to an address that was checked, so a name that changes in between has no effect.
 *
 * @throws SvcError with the result of the last attempt; the reason of the signal when it aborts
 */
export async function callWebhook(call: WebhookCall, deps: WebhookDeps): Promise<void> {
  const { clock, jitter, signal } = deps;
  const headers = {
    "content-type": "application/json",
    "user-agent": `svc/${version}`,
    "idempotency-key": call.key,
    ...(call.tokenFile === undefined ? {} : { authorization: `Bearer ${readToken(call.tokenFile)}` }),
  };
  const body = JSON.stringify(jsonOf(call.body));
  for (let attempt = 0; ; attempt++) {
    const init = { method: "POST", headers, body, redirect: "manual" } as const;
    const failure = await post({ url: new URL(call.url), init, attempt }, deps);
    if (failure === undefined) return;
    signal.throwIfAborted();
    const pauseMs = pausesMs[attempt];
    if (!failure.again || pauseMs === undefined) {
      throw new SvcError("unavailable", `the webhook of ${new URL(call.url).origin} ${failure.reason}`);
    }
    await sleep(clock, pauseMs * (0.75 + jitter() / 2), signal);
  }
}

interface Failure {
  reason: string;
  again: boolean;
}

interface Attempt {
  url: URL;
  init: BunFetchRequestInit & { headers: Readonly<Record<string, string>> };
  /** From 0. */
  attempt: number;
}

async function post({ url, init, attempt }: Attempt, deps: WebhookDeps): Promise<Failure | undefined> {
  const { clock, signal } = deps;
  const late = new AbortController();
  const timer = clock.after(timeoutMs, () =>
    late.abort(new Error(`no response within ${timeoutMs / 1000} s`)),
  );
  try {
    const ending = AbortSignal.any([late.signal, signal]);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const found = isIP(host) === 0 ? await abortable(deps.lookup(host), ending) : [host];
    const open = found.filter((address) => deps.addresses.refusal(host, address) === undefined);
    const address = open[attempt % open.length];
    if (address === undefined) return refusedAddress(host, found, deps.addresses);
    const to = new URL(url);
    to.hostname = isIPv6(address) ? `[${address}]` : address;
    const response = await deps.fetch(to.href, {
      ...init,
      headers: { ...init.headers, host: url.host },
      // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would turn verification off.
      tls: {
        rejectUnauthorized: true,
        ...(isIP(host) === 0 ? { serverName: host.replace(/\.$/, "") } : {}),
      },
      // A connection that other code opened to this address may not have been verified.
      keepalive: false,
      signal: ending,
    });
    await response.body?.cancel();
    const { status } = response;
    if (status >= 200 && status < 300) return undefined;
    if (status >= 300 && status < 400) {
      return { reason: `responded with a redirect (${status}), which is not followed`, again: false };
    }
    return { reason: `responded with status ${status}`, again: status === 429 || status >= 500 };
  } catch (thrown) {
    const reason = late.signal.aborted ? describeError(late.signal.reason) : describeError(thrown);
    return { reason: `did not respond: ${reason}`, again: true };
  } finally {
    timer.cancel();
  }
}

function refusedAddress(host: string, found: readonly string[], addresses: WebhookAddresses): Failure {
  const [first] = found;
  const kind = first === undefined ? undefined : addresses.refusal(host, first);
  if (first === undefined || kind === undefined) {
    return { reason: "was not called: its host has no address", again: true };
  }
  const which = first === host ? first : `${host} (${first})`;
  return {
    reason: `was not called: ${which} is ${kind}; if rules may call it, add it to reactor.webhook_allow`,
    again: false,
  };
}

function readToken(path: string): string {
  const token = readTextFile(path, "token_file").trim();
  if (/^[\x21-\x7e]+$/.test(token) && token.length <= maxTokenLength) return token;
  throw new SvcError(
    "bad_request",
    `token_file ${path} does not contain a token: expected one line without spaces`,
  );
}

/** JSON can represent bytes only as text. */
function jsonOf(value: Plain): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(jsonOf);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, jsonOf(item)]));
}
