import { type Clock, sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import { jsonOf } from "../../base/json-of.ts";
import type { Plain } from "../../base/msgpack.ts";
import { version } from "../../base/version.ts";
import { type PostDeps, post } from "../../base/webhook/post.ts";

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

export interface WebhookDeps extends Omit<PostDeps, "clock" | "allowOption"> {
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
}

/**
 * Posts JSON to a webhook. Retries up to twice after a timeout of 10 s, and after status 429 or 5xx. The
 * response body is not read.
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
    const posting = { url: new URL(call.url), headers, body, attempt, timeoutMs };
    const posted = await post(posting, { ...deps, allowOption: "reactor.webhook_allow" });
    if ("answer" in posted) return;
    signal.throwIfAborted();
    const pauseMs = pausesMs[attempt];
    if (!posted.again || pauseMs === undefined) {
      throw new SvcError("unavailable", `the webhook of ${new URL(call.url).origin} ${posted.reason}`);
    }
    await sleep(clock, pauseMs * (0.75 + jitter() / 2), signal);
  }
}

function readToken(path: string): string {
  const token = readTextFile(path, "token_file").trim();
  if (/^[\x21-\x7e]+$/.test(token) && token.length <= maxTokenLength) return token;
  throw new SvcError(
    "bad_request",
    `token_file ${path} does not contain a token: expected one line without spaces`,
  );
}
