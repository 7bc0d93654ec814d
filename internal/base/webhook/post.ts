import { isIP, isIPv6 } from "node:net";
import { abortable } from "../abortable.ts";
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { WebhookAddresses } from "./addresses.ts";

/** What a call of a webhook goes through. */
export interface PostDeps {
  fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>;
  /** Addresses of a host, in the order in which they are tried. */
  lookup: (host: string) => Promise<readonly string[]>;
  addresses: WebhookAddresses;
  /** The option that allows further addresses, for messages. */
  allowOption: string;
  clock: Pick<Clock, "after">;
  signal: AbortSignal;
}

/** One request to a webhook. */
export interface Posting {
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Which address of the host is used when it has several: 0 for the first. */
  attempt: number;
  timeoutMs: number;
  /** PEM text of the only CAs that count; absent for those of the host. */
  ca?: string;
  /** How many bytes of the answer are read; absent when the answer is not needed. */
  answerBytes?: number;
}

export interface PostFailure {
  /** What follows the name of the webhook: `responded with status 500`. */
  reason: string;
  /** Whether it may succeed when it is tried again. */
  again: boolean;
  /** It took too long, or its answer was too long. */
  excess?: "time" | "size";
}

/**
 * Posts to a webhook once. A redirect is a failure: what is sent is only for the URL that an operator wrote. It
 * connects to an address that was checked, so a name that changes in between has no effect.
 *
 * @returns the body of an answer with a status of 2xx, empty when none was wanted
 */
export async function post(posting: Posting, deps: PostDeps): Promise<{ answer: string } | PostFailure> {
  const { url, headers, body, attempt, timeoutMs, ca, answerBytes } = posting;
  const late = new AbortController();
  const timer = deps.clock.after(timeoutMs, () =>
    late.abort(new Error(`no response within ${timeoutMs / 1000} s`)),
  );
  try {
    const ending = AbortSignal.any([late.signal, deps.signal]);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const found = isIP(host) === 0 ? await abortable(deps.lookup(host), ending) : [host];
    const open = found.filter((address) => deps.addresses.refusal(host, address) === undefined);
    const address = open[attempt % open.length];
    if (address === undefined) return refusedAddress(host, found, deps);
    const to = new URL(url);
    to.hostname = isIPv6(address) ? `[${address}]` : address;
    const response = await deps.fetch(to.href, {
      ...{ method: "POST", body, redirect: "manual" },
      headers: { ...headers, host: url.host },
      // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would turn verification off.
      tls: {
        rejectUnauthorized: true,
        ...(isIP(host) === 0 ? { serverName: host.replace(/\.$/, "") } : {}),
        ...(ca === undefined ? {} : { ca }),
      },
      // A connection that other code opened to this address may not have been verified.
      keepalive: false,
      signal: ending,
    });
    const { status } = response;
    const isGood = status >= 200 && status < 300;
    if (isGood && answerBytes !== undefined)
      return await abortable(readAnswer(response, answerBytes), ending);
    await response.body?.cancel();
    if (isGood) return { answer: "" };
    if (status >= 300 && status < 400) {
      return { reason: `responded with a redirect (${status}), which is not followed`, again: false };
    }
    return { reason: `responded with status ${status}`, again: status === 429 || status >= 500 };
  } catch (thrown) {
    if (late.signal.aborted) {
      return { reason: `did not respond: ${describeError(late.signal.reason)}`, again: true, excess: "time" };
    }
    return { reason: `did not respond: ${describeError(thrown)}`, again: true };
  } finally {
    timer.cancel();
  }
}

async function readAnswer(response: Response, max: number): Promise<{ answer: string } | PostFailure> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    // Leaving the loop cancels the rest.
    if (length > max) {
      return { reason: `responded with more than ${max} bytes`, again: false, excess: "size" };
    }
    chunks.push(chunk);
  }
  return { answer: new TextDecoder().decode(Buffer.concat(chunks)) };
}

function refusedAddress(
  host: string,
  found: readonly string[],
  { addresses, allowOption }: Pick<PostDeps, "addresses" | "allowOption">,
): PostFailure {
  const [first] = found;
  const kind = first === undefined ? undefined : addresses.refusal(host, first);
  if (first === undefined || kind === undefined) {
    return { reason: "was not called: its host has no address", again: true };
  }
  const which = first === host ? first : `${host} (${first})`;
  return {
    reason: `was not called: ${which} is ${kind}; if rules may call it, add it to ${allowOption}`,
    again: false,
  };
}
