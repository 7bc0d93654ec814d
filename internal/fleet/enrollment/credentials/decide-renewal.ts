import { SvcError } from "../../../base/errors.ts";
import { displayPeelId } from "../../../base/names/peel-id.ts";
import { verifySignature } from "../../../identity/mod.ts";
import { rekeyMessage, renewalMessage } from "../../../wire/enrollment-messages.ts";
import type { RekeyRequest, RenewalRequest } from "../../../wire/renewal.ts";
import { busKeysOf, type Enrollment, memberStates, renewsTooOften } from "../record/mod.ts";

/** How far the clock of a peel may be off when it signs a request. */
const skewMs = 5 * 60_000;

/** How a request is judged. */
export interface RenewalContext {
  /** Who sent it, by the subject. */
  peelId: string;
  validityMs: number;
  now: number;
}

/**
 * What follows from a request: the record changes, the answer of the last change is given again, or the sender
 * is a second holder of the identity.
 */
export type RenewalVerdict = "change" | "repeat" | "clone";

/**
 * Judges a renewal.
 *
 * @throws SvcError `forbidden`, `unauthorized`, `bad_request` or `rate_limited`
 */
export function decideRenewal(
  record: Enrollment,
  request: RenewalRequest,
  context: RenewalContext,
): RenewalVerdict {
  assertSender(record, context.peelId);
  assertTime(request, context.now);
  assertSignature(record.publicKey, renewalMessage(request), request.signature);
  assertMember(record);
  const { renews, busPublicKey } = request;
  if (busPublicKey === record.busPublicKey && renews === record.renewedFrom) return "repeat";
  if (renews !== record.busPublicKey) return "clone";
  assertChange(record, request, context);
  return "change";
}

/**
 * Judges a change of keys. It is never a `clone`: the signature of an earlier key is refused.
 *
 * @throws SvcError as `decideRenewal`
 */
export function decideRekey(
  record: Enrollment,
  request: RekeyRequest,
  context: RenewalContext,
): Exclude<RenewalVerdict, "clone"> {
  assertSender(record, context.peelId);
  assertTime(request, context.now);
  const isRepeat =
    request.publicKey === record.publicKey &&
    request.curvePublicKey === record.curvePublicKey &&
    request.busPublicKey === record.busPublicKey &&
    record.previousPublicKey !== undefined;
  const message = rekeyMessage(request);
  assertSignature(
    isRepeat ? (record.previousPublicKey ?? "") : record.publicKey,
    message,
    request.signatureOld,
  );
  assertSignature(request.publicKey, message, request.signatureNew);
  assertMember(record);
  if (isRepeat) return "repeat";
  if (request.publicKey === record.publicKey || request.curvePublicKey === record.curvePublicKey) {
    throw new SvcError("bad_request", "public_key and curve_public_key must be new keys");
  }
  assertChange(record, request, context);
  return "change";
}

function assertSender({ peelId }: Enrollment, sender: string): void {
  if (peelId !== sender) throw new SvcError("forbidden", "enrollment_id is that of another peel");
}

function assertTime({ signedAt }: Pick<RenewalRequest, "signedAt">, now: number): void {
  if (Math.abs(Date.parse(signedAt) - now) <= skewMs) return;
  throw new SvcError("unauthorized", "signed_at is more than 5 minutes off: set the clock of the host");
}

function assertSignature(publicKey: string, message: Uint8Array, signature: Uint8Array): void {
  if (verifySignature("user", publicKey, message, signature)) return;
  throw new SvcError("unauthorized", "signature verification failed");
}

function assertMember({ id, peelId, state, suspended }: Enrollment): void {
  if (memberStates.has(state) && suspended === undefined) return;
  const found = memberStates.has(state) ? "suspended" : state;
  throw new SvcError("forbidden", `the enrollment ${id} of ${displayPeelId(peelId)} is ${found}`);
}

function assertChange(
  record: Enrollment,
  { busPublicKey }: Pick<RenewalRequest, "busPublicKey">,
  { validityMs, now }: RenewalContext,
): void {
  if (busKeysOf(record).some(({ publicKey }) => publicKey === busPublicKey)) {
    throw new SvcError("bad_request", "bus_public_key must be a new key");
  }
  if (renewsTooOften(record, validityMs, now)) {
    throw new SvcError("rate_limited", "this peel renewed its credentials too often: it tries again later");
  }
}
