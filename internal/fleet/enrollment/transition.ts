import { SvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import type { Enrollment, EnrollmentState } from "./record.ts";

/** What can happen to an enrollment record after it was created. */
export type EnrollmentEvent =
  | { type: "approve"; operator: string; force: boolean }
  | { type: "reject"; operator: string; reason?: string }
  | { type: "issue"; busPublicKey: string; credsExpiresAt: number }
  | { type: "activate" }
  | { type: "revoke"; operator: string; reason?: string };

/** The transitions of the specification, section "States and transitions". All others are refused. */
export const transitions: Record<
  EnrollmentState,
  Partial<Record<EnrollmentEvent["type"], EnrollmentState>>
> = {
  pending: { approve: "approved", reject: "rejected" },
  approved: { issue: "issued", revoke: "revoked" },
  issued: { activate: "active", revoke: "revoked" },
  active: { revoke: "revoked" },
  rejected: {},
  revoked: {},
};

/** States in which a record keeps its peel id: a new enrollment of that peel is refused. */
export const liveStates: ReadonlySet<EnrollmentState> = new Set(["pending", "approved", "issued", "active"]);

/** States in which a status stream ends (specification, "Status stream"): everything but `pending`. */
export const isStreamTerminal = (state: EnrollmentState): boolean => state !== "pending";

/** States in which a peel is a member of the fleet and may be a target. */
export const memberStates: ReadonlySet<EnrollmentState> = new Set(["issued", "active"]);

/**
 * The record after an event. States change only here.
 *
 * @param now milliseconds since the Unix epoch
 * @throws SvcError `invalid_transition` for an event that is not allowed in this state,
 *   `trust_mismatch` for an approval of a mismatch without force
 */
export function transition(record: Enrollment, event: EnrollmentEvent, now: number): Enrollment {
  const state = transitions[record.state][event.type];
  if (state === undefined) {
    throw new SvcError(
      "invalid_transition",
      `cannot ${event.type} the enrollment ${record.id} of ${displayPeelId(record.peelId)}: it is ${record.state}`,
    );
  }
  // It says how the last decision was made.
  const { direct: _, ...kept } = record;
  const next: Enrollment = { ...kept, state, updatedAt: now };
  switch (event.type) {
    case "approve":
      if (record.trustMismatch === true && !event.force) {
        throw new SvcError(
          "trust_mismatch",
          `the peel ${displayPeelId(record.peelId)} trusted another CA root than this fleet's: find out the reason before you approve it`,
        );
      }
      return { ...next, decidedBy: event.operator, decidedAt: now };
    case "reject":
      return {
        ...next,
        decidedBy: event.operator,
        decidedAt: now,
        ...(event.reason ? { rejectReason: event.reason } : {}),
      };
    case "issue":
      return {
        ...next,
        issuedAt: now,
        busPublicKey: event.busPublicKey,
        credsExpiresAt: event.credsExpiresAt,
      };
    case "activate":
      return { ...next, activatedAt: now };
    case "revoke":
      return {
        ...next,
        decidedBy: event.operator,
        revokedAt: now,
        ...(event.reason ? { revokeReason: event.reason } : {}),
      };
  }
}
