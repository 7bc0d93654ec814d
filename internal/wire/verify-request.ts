import { rfc3339 } from "../base/clock.ts";
import { sayDuration } from "../base/duration.ts";
import { isSignedFor, type SignedRequest } from "./signed-request.ts";

/** An operator of the registry, in force at the time in question. */
export interface RegisteredOperator {
  name: string;
  publicKey: string;
  roles: readonly string[];
  /** Milliseconds since the Unix epoch. */
  expiresAt?: number;
}

/** The operators that masters know. */
export interface RequestRegistry {
  /**
   * Judges a name and a key.
   *
   * @param at milliseconds since the Unix epoch
   * @returns the operator, or why there is none: `is disabled`, with who can change that
   */
  judge(name: string, key: string, at: number): { operator: RegisteredOperator } | { refused: string };
  /**
   * The encoded records that prove an operator to a verifier that knows only the administrators: its own, then that of each
   * signer. None for an administrator.
   */
  recordsOf?(name: string, at: number): readonly Uint8Array[];
}

/** How far the clock of an operator may be off, in both directions, milliseconds. */
export const clockToleranceMs = 60_000;

/**
 * Judges a request: whether its operator is known and in force, and signed it for this subject just now.
 *
 * @param subject on which it arrived
 * @param now milliseconds since the Unix epoch
 * @returns the operator, or one line that names the caller and what is missing; `isForged` when it is the signature
 */
export function judgeRequest(
  request: SignedRequest,
  subject: string,
  { registry, now }: { registry: RequestRegistry; now: number },
): { operator: RegisteredOperator } | { refused: string; isForged?: true } {
  const { operator: requester, key, sentAt } = request;
  const refuse = (reason: string) => ({ refused: `the request of ${requester} is refused: ${reason}` });
  const offMs = sentAt - now;
  if (Math.abs(offMs) > clockToleranceMs) {
    const where = offMs > 0 ? "ahead of" : "behind";
    return refuse(
      `it was signed at ${rfc3339(sentAt)}, ${inWords(Math.abs(offMs))} ${where} the clock of this master: set the clock of your host, or send the request again if it is old`,
    );
  }
  if (!isSignedFor(subject, request)) {
    const forged = `its signature is wrong for ${subject}: it was changed on its way, or signed for another subject`;
    return { ...refuse(forged), isForged: true };
  }
  const judged = registry.judge(requester, key, now);
  return "operator" in judged ? judged : refuse(judged.refused);
}

/** Whole seconds are enough for a person. */
function inWords(ms: number): string {
  return sayDuration(Math.max(1, Math.round(ms / 1000)) * 1000);
}
