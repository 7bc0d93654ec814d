import { sayDuration } from "../../base/duration.ts";
import { encode } from "../../base/msgpack.ts";
import { isProven } from "../../identity/merkle/mod.ts";
import { type Call, decodeEvidence } from "../../wire/call.ts";
import type { Command } from "../../wire/command.ts";
import { isSignedFor, openRequest } from "../../wire/signed-request.ts";
import { signedSubjects } from "../../wire/signed-subjects.ts";
import { clockToleranceMs } from "../../wire/verify-request.ts";
import { agreedAt, maxWaitingMs } from "./agreement.ts";
import { checkRoles, checkSomeRole } from "./operator-roles.ts";
import { orRefusal, type Refusal, refuse } from "./refusal.ts";
import { checkReleased, withNewestRelease } from "./released-files.ts";
import { readJob, readRollout } from "./signed-body.ts";
import { checkFiles } from "./signed-files.ts";
import { type Rules, signerOf } from "./signer.ts";

// A master signs commands, and anyone who steals one can sign any. So a peel may insist on what the operator signed:
// then it verifies by itself which operator requested what, and trusts no master.

/** A command that this peel obeys. */
export type Consent =
  | {
      by: "automation";
      /** The call with exactly the files that are released. */
      call: Call;
    }
  | {
      by: "operator";
      operator: string;
      /** The public key that signed it. */
      key: string;
      /** Each signed request counts once. */
      nonce: Uint8Array;
      /** Milliseconds since the Unix epoch, as all times here. */
      sentAt: number;
      /** Until then the request may count. */
      until: number;
      /** How long the operator lets it run. */
      timeoutMs: number;
      /** It is a wave of a rollout, or its check: masters may end it without an operator. */
      isWave: boolean;
    };

/** Judges a command to run a function. */
export function judgeDispatch(
  { body, peel, deadline, proof }: Pick<Command, "body" | "peel" | "deadline" | "proof">,
  call: Call,
  rules: Rules,
): Consent | Refusal {
  return orRefusal(() => {
    const evidence = decodeEvidence(body);
    if (evidence === undefined) return withoutOperator(call, rules);
    const request = openRequest(evidence.request);
    const isRollout = isSignedFor(signedSubjects.startRollout, request);
    const subject = isRollout ? signedSubjects.startRollout : signedSubjects.createJob;
    const signer = signerOf(request, subject, evidence.records, rules);
    const who = signer.name;
    const requested = (isRollout ? readRollout : readJob)(request.body, evidence.step, who);
    if (requested.function !== call.function) {
      refuse(`${who} signed a request for ${requested.function}, and the command is ${call.function}`);
    }
    if (!isSame(requested.args, call.args)) refuse(`${who} signed other arguments of ${call.function}`);
    checkRoles(signer, call.function, rules.operatorRoles);
    checkFiles(call, requested.snapshot, who);
    checkReleased(call, requested.unreleased, signer, rules);
    const agreed = agreedAt(request, requested.approvals, evidence, rules);
    const { timeoutMs, lastsMs } = requested;
    const until = (agreed ?? request.sentAt) + lastsMs;
    if (rules.now > until) {
      const ago = sayDuration(rules.now - until);
      const what = isRollout ? "its deadline" : "its timeout";
      refuse(`the request of ${who} ended ${ago} ago: ${what} has passed`);
    }
    if (deadline > Math.min(until, isRollout ? rules.now + timeoutMs : until) + clockToleranceMs) {
      refuse(`${who} signed a timeout of ${sayDuration(timeoutMs)}, and the command has a longer one`);
    }
    if (requested.targets_digest === undefined) {
      refuse(`${who} did not sign which peels it is for (targets_digest)`);
    } else if (!isProven(peel, evidence.proof ?? proof, requested.targets_digest)) {
      refuse(`this peel is not among those that the request of ${who} is for`);
    }
    return {
      by: "operator",
      operator: who,
      key: request.key,
      // The check of a wave runs as well as the wave, and each once.
      nonce: Uint8Array.from([...request.nonce, ...Buffer.from(evidence.step ?? "")]),
      sentAt: request.sentAt,
      // Others may agree again to a request that was used: it is remembered as long as they could.
      until: agreed === undefined ? until : request.sentAt + maxWaitingMs + lastsMs,
      timeoutMs,
      isWave: isRollout,
    };
  });
}

/**
 * Judges a command to stop a job.
 *
 * @param isAutomatic whether the job runs without an operator, so that it may be stopped without one
 */
export function judgeStop(
  { body, jid }: Pick<Command, "body" | "jid">,
  isAutomatic: boolean,
  rules: Rules,
): { by: "automation" | "operator" } | Refusal {
  return orRefusal(() => {
    const evidence = decodeEvidence(body);
    if (evidence !== undefined) {
      const request = openRequest(evidence.request);
      const signer = signerOf(request, signedSubjects.cancelJob(jid), evidence.records, rules);
      checkSomeRole(signer, rules.operatorRoles);
      return { by: "operator" };
    }
    if (!isAutomatic) refuse("no operator signed that the job shall stop");
    return { by: "automation" };
  });
}

/** Whether a function is one of those that run without an operator. */
export function isAutomatic(name: string, functions: readonly string[]): boolean {
  return functions.some((pattern) =>
    pattern.endsWith(".*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

function withoutOperator(call: Call, rules: Rules): Consent {
  const { function: name } = call;
  if (isAutomatic(name, rules.automationFunctions))
    return { by: "automation", call: withNewestRelease(call, rules) };
  return refuse(
    `no operator signed it, and ${name} is not in automation_functions: ask with svc and an operator file (svc login)`,
  );
}

/** Both were decoded in the same way, so that the same bytes give the same values. */
function isSame(one: unknown, other: unknown): boolean {
  return Buffer.from(encode(one)).equals(encode(other));
}
