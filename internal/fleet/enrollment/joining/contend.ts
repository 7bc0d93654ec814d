import { SvcError } from "../../../base/errors.ts";
import { conflict } from "../../../base/retry-on-conflict.ts";
import { type Enrollment, formerFrom } from "../record/mod.ts";
import { type FoundByPeel, insertRival, loadEnrollment, removePending } from "../store/mod.ts";
import { admissionOf, admitted, eventOfAdmission, withProof } from "./admit.ts";
import type { EnrollDeps, EnrollResult, Proof } from "./deps.ts";
import { newRecord } from "./new-record.ts";
import { promote, rejectReasons } from "./other-host.ts";
import { withEvidence } from "./proven.ts";
import { decideUnlessDecided, recorded } from "./recorded.ts";
import type { Admission } from "./way-in.ts";

// Proof beats order: a name is a claim, and who comes first with it may be anybody. A host that proves itself takes the
// place of one that only came before. One with evidence that nothing accepts waits next to it, so that an operator
// sees both.

/** How many may wait next to the first. */
const maxRivals = 2;

/** A host asks under a peel id under which another key waits. */
export async function contend(
  deps: EnrollDeps,
  found: FoundByPeel,
  other: Enrollment,
  proof: Proof,
): Promise<EnrollResult | typeof conflict> {
  const { submission, challenge } = proof;
  const record: Enrollment = { ...newRecord(deps, proof, formerFrom(other)), rivalOf: other.id };
  if (!isUnproven(other) || record.trustMismatch === true) return mismatch(deps, other);
  const admission = await admissionOf(deps.waysIn, { submission, record, challenge, contends: true });
  if (admission?.proven === true) return replaceOthers(deps, record, admission, proof, found);
  if (proof.evidence === undefined) {
    await admission?.giveBack?.();
    return mismatch(deps, other);
  }
  return waitAsRival(deps, { found, other, record, admission, proof });
}

/**
 * A host that waits next to another one asks again: it may have a way in now.
 *
 * @param other the other one, if it waits still
 */
export async function contendAgain(
  deps: EnrollDeps,
  id: string,
  other: Enrollment | undefined,
  proof: Proof,
): Promise<EnrollResult | typeof conflict> {
  const { submission, challenge, evidence } = proof;
  const known = await loadEnrollment(deps.enrollments, id).catch(absent);
  if (known?.record.state !== "pending") {
    // It was decided about a moment ago.
    await deps.rivals.caughtUp();
    return conflict;
  }
  const record = await withEvidence(deps, known.record, evidence);
  // The other one proved itself as well since: an operator decides between them.
  if (other !== undefined && !isUnproven(other)) return { record, created: false, keyMismatch: false };
  const requested = { submission, record, challenge, waits: true, contends: true } as const;
  const admission = await admissionOf(deps.waysIn, requested);
  if (admission?.proven === true) return replaceOthers(deps, record, admission, proof);
  const stored = await leaveWaiting(deps, record, admission);
  return stored === undefined ? conflict : { record: stored, created: false, keyMismatch: false };
}

/** A host that came with no more than a key. */
const isUnproven = ({ evidence, provedBy }: Pick<Enrollment, "evidence" | "provedBy">): boolean =>
  evidence === undefined && provedBy === undefined;

/** The one that waits stays, and the host gets nothing. */
function mismatch({ metrics, log }: EnrollDeps, other: Enrollment): EnrollResult {
  metrics.keyMismatch();
  log.warn("enrollment repeated with another key", { enrollment_id: other.id, peel_id: other.peelId });
  return { record: other, created: false, keyMismatch: true };
}

/**
 * The host that proved itself comes in place of those that did not.
 *
 * @param found absent when the record is stored already
 */
async function replaceOthers(
  deps: EnrollDeps,
  requested: Enrollment,
  admission: Admission,
  { address }: Proof,
  found?: FoundByPeel,
): Promise<EnrollResult | typeof conflict> {
  const record = withProof(requested, admission);
  const { rivalOf: _, ...alone } = record;
  const made = admitted(alone, admission, deps.clock.now());
  const isNew = found !== undefined;
  const place = await deps.pending.take({ address, proven: true, waits: made.state === "pending" });
  let stored: Enrollment | undefined;
  try {
    stored = await recorded(deps, made, admission, async () => {
      if (isNew && (await insertRival(deps.enrollments, record, found)) === undefined) return undefined;
      const promoted = await promoteOrWithdraw(deps, record, admission, isNew);
      const event = promoted === undefined ? undefined : eventOfAdmission(promoted, admission);
      return event === undefined ? promoted : decideUnlessDecided(deps, record.id, event);
    });
  } finally {
    place.giveBack(stored?.id);
  }
  return stored === undefined ? conflict : { record: stored, created: isNew, keyMismatch: false };
}

/** What cannot take the place of the others does not stay, when it came just now. */
async function promoteOrWithdraw(
  deps: EnrollDeps,
  { id, createdAt }: Enrollment,
  { by }: Admission,
  isNew: boolean,
): Promise<Enrollment | undefined> {
  let promoted: Awaited<ReturnType<typeof promote>>;
  try {
    const ending = { by, reason: rejectReasons.replaced, mayReplace: isUnproven };
    promoted = await promote(deps, id, ending);
  } finally {
    if (promoted === undefined && isNew) await removePending(deps.enrollments, id, createdAt);
  }
  return promoted?.record;
}

/** An enrollment that is to wait next to another one. */
interface Contender {
  found: FoundByPeel;
  other: Enrollment;
  record: Enrollment;
  admission: Admission | undefined;
  proof: Proof;
}

async function waitAsRival(
  deps: EnrollDeps,
  { found, other, record, admission, proof: { address } }: Contender,
): Promise<EnrollResult | typeof conflict> {
  await deps.rivals.caughtUp();
  const rivals = deps.rivals.rivalsOf(record.peelId);
  const isThere = rivals.some(({ publicKey }) => publicKey === record.publicKey);
  if (isThere || rivals.length >= maxRivals) {
    await admission?.giveBack?.();
    return isThere ? conflict : mismatch(deps, other);
  }
  const place = await deps.pending.take({ address, proven: false, waits: admission?.decide !== "reject" });
  let stored: Enrollment | undefined;
  try {
    const inserted = await place.occupy(
      record.id,
      () => insertRival(deps.enrollments, record, found),
      () => removePending(deps.enrollments, record.id, record.createdAt),
    );
    if (inserted !== undefined) stored = await leaveWaiting(deps, record, admission);
  } finally {
    place.giveBack(stored?.id);
  }
  return stored === undefined ? conflict : { record: stored, created: true, keyMismatch: false };
}

/** What is decided about a host that did not prove enough: it is rejected, or waits with its labels. */
async function leaveWaiting(
  deps: EnrollDeps,
  record: Enrollment,
  admission: Admission | undefined,
): Promise<Enrollment | undefined> {
  const event = admission === undefined ? undefined : eventOfAdmission(record, admission);
  if (admission === undefined || event === undefined || event.type === "approve") {
    await admission?.giveBack?.();
    return record;
  }
  const made = admitted(record, admission, deps.clock.now());
  return recorded(deps, made, admission, () => decideUnlessDecided(deps, record.id, event));
}

function absent(thrown: unknown): undefined {
  if (thrown instanceof SvcError && thrown.kind === "not_found") return undefined;
  throw thrown;
}
