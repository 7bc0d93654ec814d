import type { Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/id.ts";
import type { Log } from "../../../base/log.ts";
import type { Enrollment, Evidence } from "../record/mod.ts";
import type { Directory, Enrollments } from "../store/mod.ts";
import type { Challenges } from "./challenge.ts";
import type { NoteCopyDeps } from "./note-copy.ts";
import type { PendingTable } from "./pending-table.ts";
import type { VerifyEvidence } from "./proven.ts";
import type { Submission } from "./validate.ts";
import type { WayIn } from "./way-in.ts";

export interface EnrollDeps {
  enrollments: Enrollments;
  challenges: Challenges;
  /**
   * Whether this master knows of an enrollment of a peel. What it does not know yet is found when the new one is
   * stored.
   */
  isKnown?(peelId: string): boolean;
  /** Who waits next to another host with the same peel id. */
  rivals: Pick<Directory, "rivalsOf" | "caughtUp">;
  clock: Clock;
  random: Random;
  /**
   * SPKI pins of this fleet's own CA roots: two while the root is rotated, none when the master does not know it
   * (external mode).
   */
  readonly ownCaSpkis: readonly string[];
  /** The places for enrollments that wait for a decision. */
  pending: PendingTable;
  /** What may decide in place of an operator, in this order. */
  waysIn: readonly WayIn[];
  /** Absent when this master is not configured for any evidence. */
  verifyEvidence?: VerifyEvidence;
  /**
   * Records a decision that no operator makes, before it is stored.
   *
   * @returns called once with how it ended
   * @throws SvcError `unavailable` when it cannot be recorded: then nothing is decided
   */
  begin(decision: Decision): Promise<(outcome: "done" | "failed") => Promise<void>>;
  /** Where the copy of a host is noted; absent in tests of other parts. */
  copies?: NoteCopyDeps;
  metrics: { keyMismatch(): void };
  log: Log;
}

/** A decision of a way in, as the audit records it. */
export interface Decision {
  action: "enrollments.approve" | "enrollments.reject";
  /** `token:<id>` */
  by: string;
  enrollment: string;
  /** Encoded. */
  peel: string;
}

export interface EnrollResult {
  record: Enrollment;
  /** Whether this call created the record; otherwise it waited already. */
  created: boolean;
  /** The existing record has another public key than this submission. */
  keyMismatch: boolean;
}

/** What a host that asks has proved. */
export interface Proof {
  submission: Submission;
  challenge: Uint8Array;
  evidence: Evidence | undefined;
  /** From where it asks, if that is known. */
  address: string | undefined;
}
