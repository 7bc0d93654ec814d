import type { Enrollment, Labels } from "../record/mod.ts";
import type { Submission } from "./validate.ts";

/** A host that proved its key and asks to join. */
export interface Candidate {
  submission: Submission;
  /** The record that is stored when nothing decides. */
  record: Enrollment;
  /** The 32 bytes that the host signed. */
  challenge: Uint8Array;
  /** It waits already; absent when it asks for the first time. */
  waits?: true;
  /** A host with another key waits under this peel id: only a host that proves itself is decided about. */
  contends?: true;
}

export const decisions = ["approve", "reject", "hold"] as const;
/** What can be decided about a host; one that is held waits for an operator. */
export type Decide = (typeof decisions)[number];

/** What a way in decides about a host. */
export interface Admission {
  decide: Decide;
  /** Who decides, as the record names it: `token:<id>`. */
  by: string;
  labels?: Labels;
  reason?: string;
  /** The host proved itself with more than a key of its own: it comes before those that did not. */
  proven?: true;
  /**
   * Called right before the record is stored as decided.
   *
   * @throws SvcError `unavailable` when the decision took too long, so that another master may hold what it took
   */
  assertHeld?(): void;
  /**
   * Called at most once, when the record was not stored as decided: what this decision took, such as a use of a
   * token, is free again. It does not fail.
   */
  giveBack?(): Promise<void>;
}

/** A way for hosts to become members without a decision of a person on each of them. */
export interface WayIn {
  /**
   * Decides about a host that has proved its key. A host with a trust mismatch is held whatever is decided, so
   * nothing may be taken for it.
   *
   * @returns `undefined` to leave the host to the next way, and at the end to an operator
   * @throws SvcError `unauthorized`, `forbidden` for a host that must not be enrolled at all
   */
  judge(candidate: Candidate): Promise<Admission | undefined>;
}
