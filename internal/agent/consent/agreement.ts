import * as v from "valibot";
import { decode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import type { Evidence } from "../../wire/call.ts";
import { openRequest, type SignedRequest } from "../../wire/signed-request.ts";
import { signedSubjects } from "../../wire/signed-subjects.ts";
import { refuse } from "./refusal.ts";
import { type Rules, signerOf } from "./signer.ts";

/** Others can agree this long after a request was signed, milliseconds. */
export const maxWaitingMs = 7 * 24 * 3_600_000;

const agreement = v.object({ request_digest: v.optional(v.instance(Uint8Array)) });

/**
 * Verifies that as many others agreed to a request as its operator signed that it needs. Agreements that it does not
 * need change nothing: otherwise one could bring a request back that has ended.
 *
 * @returns when the last of them agreed, milliseconds since the Unix epoch; `undefined` when none is needed
 */
export function agreedAt(
  requested: SignedRequest,
  needed: number,
  { request, approvals = [] }: Evidence,
  rules: Rules,
): number | undefined {
  if (needed === 0) return undefined;
  const parties = [requested];
  const digest = sha256(request);
  for (const one of approvals) {
    const agreed = openRequest(one.request);
    const { name: who } = signerOf(agreed, signedSubjects.approveRequest, one.records, rules);
    const { request_digest } = v.parse(agreement, decode(agreed.body));
    if (request_digest === undefined) {
      refuse(`${who} did not sign which request it agrees to (request_digest)`);
    } else if (!Buffer.from(digest).equals(request_digest)) refuse(`${who} agreed to another request`);
    if (parties.some(({ operator, key }) => operator === who || key === agreed.key)) {
      refuse(`${who} counts once: another operator, with another key, must agree`);
    }
    if (agreed.sentAt > requested.sentAt + maxWaitingMs) {
      refuse(`${who} agreed more than 7 days after ${requested.operator} asked: ask again`);
    }
    parties.push(agreed);
  }
  const others = parties.slice(1);
  if (others.length < needed) {
    refuse(
      `${requested.operator} signed that ${needed} must agree, and ${others.length} did with a key of their own (svc approval approve)`,
    );
  }
  return Math.max(...others.map(({ sentAt }) => sentAt));
}
