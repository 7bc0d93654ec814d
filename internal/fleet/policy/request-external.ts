import { createHmac } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import { jsonOf } from "../../base/json-of.ts";
import type { Plain } from "../../base/msgpack.ts";
import { cleanEnvironment } from "../../base/process/environment.ts";
import { runProcess } from "../../base/process/process.ts";
import { version } from "../../base/version.ts";
import { type PostDeps, type PostFailure, post } from "../../base/webhook/post.ts";
import { type Enrollment, toStored } from "../enrollment/record/mod.ts";
import { type Answer, readAnswer } from "./answer.ts";
import type { Decider, Program, Webhook } from "./policy.ts";

/** How an answer may fail to come: each is counted under its name. */
export const failures = ["failed", "timeout", "nonsense"] as const;
export type Failure = (typeof failures)[number];

/** Nothing was decided: the host is held. */
export class NoAnswer extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, message: string) {
    super(message);
    this.failure = failure;
  }
}

export interface ExternalDeps {
  clock: Clock;
  webhook: Omit<PostDeps, "clock" | "signal" | "allowOption">;
  /** Aborts when the master stops. */
  signal: AbortSignal;
}

type External = Exclude<Decider, { decide: unknown }>;

const answerBytes = 64 * 1024;
const maxSaid = 200;

/**
 * Asks a program or a webhook about a host.
 *
 * @throws NoAnswer for a failure, a time-out or nonsense; SvcError `unavailable` when the master stops
 */
export async function requestExternal(
  decider: External,
  record: Enrollment,
  deps: ExternalDeps,
): Promise<Answer> {
  const body = JSON.stringify(jsonOf(toStored(record) as unknown as Plain));
  const text =
    "program" in decider
      ? await runProgram(decider.program, body, deps)
      : await callWebhook(decider.webhook, body, deps);
  try {
    return readAnswer(text);
  } catch (thrown) {
    throw new NoAnswer("nonsense", `its answer is nonsense: ${describeError(thrown)}`);
  }
}

async function runProgram({ argv, timeoutMs }: Program, body: string, deps: ExternalDeps): Promise<string> {
  const { clock, signal } = deps;
  const ran = await runProcess({
    ...{ argv, timeoutMs, clock, signal, stdin: body, cwd: "/", outputLimit: answerBytes },
    env: cleanEnvironment(undefined),
    // Otherwise each host could leave a process behind.
    killsRest: true,
  }).catch((thrown) => {
    throw signal.aborted ? stopping() : new NoAnswer("failed", describeError(thrown));
  });
  if (ran.stopped === "timeout") throw new NoAnswer("timeout", `it did not end within ${timeoutMs} ms`);
  if (ran.stopped === "aborted") throw stopping();
  if (ran.code !== 0) throw new NoAnswer("failed", `it ended with ${ran.code}${saidBy(ran.stderr.text)}`);
  if (ran.stdout.omitted === 0) return ran.stdout.text;
  throw new NoAnswer("nonsense", `it printed more than ${answerBytes} bytes`);
}

/** The first line of what a program said about its failure. */
function saidBy(stderr: string): string {
  const [line = ""] = stderr.trim().split("\n");
  return line === "" ? "" : `: ${JSON.stringify(line.slice(0, maxSaid))}`;
}

async function callWebhook(webhook: Webhook, body: string, deps: ExternalDeps): Promise<string> {
  const { url, timeoutMs, secretFile, caFile } = webhook;
  const { secret, ca } = readFiles(secretFile, caFile);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const headers = {
    "content-type": "application/json",
    "user-agent": `svc/${version}`,
    "x-svc-signature": `sha256=${signature}`,
  };
  const posting = { url: new URL(url), headers, body, attempt: 0, timeoutMs, answerBytes };
  const { clock, signal } = deps;
  const posted = await post(ca === undefined ? posting : { ...posting, ca }, {
    ...{ ...deps.webhook, clock, signal },
    allowOption: "enroll.policy_webhook_allow",
  });
  if ("answer" in posted) return posted.answer;
  if (signal.aborted) throw stopping();
  throw new NoAnswer(failureOf(posted), `the webhook of ${new URL(url).origin} ${posted.reason}`);
}

function failureOf({ excess }: PostFailure): Failure {
  if (excess === undefined) return "failed";
  return excess === "time" ? "timeout" : "nonsense";
}

/** A host that asks again is decided about; one that is held would wait for a person. */
function stopping(): SvcError {
  return new SvcError("unavailable", "this master stops: try again");
}

function readFiles(secretFile: string, caFile: string | undefined): { secret: string; ca?: string } {
  try {
    const secret = readTextFile(secretFile, "secret_file").trimEnd();
    if (secret === "") throw new SvcError("bad_request", `secret_file ${secretFile} is empty`);
    return caFile === undefined ? { secret } : { secret, ca: readTextFile(caFile, "ca_file") };
  } catch (thrown) {
    throw new NoAnswer("failed", describeError(thrown));
  }
}
