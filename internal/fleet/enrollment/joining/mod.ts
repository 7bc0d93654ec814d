export {
  type ChallengeDeps,
  type Challenges,
  consumeChallenge,
  issueChallenge,
  maxMadeChallenges,
  readChallenge,
} from "./challenge.ts";
export type { EnrollDeps } from "./deps.ts";
export { takeSubmission } from "./enroll.ts";
export { tpmKeyFields } from "./evidence-field.ts";
export { promote, rejectReasons, rejectRivals } from "./other-host.ts";
export { createPendingTable } from "./pending-table.ts";
export {
  challengeIdField,
  joinTokenIdField,
  peelIdField,
  readSubmission,
  reasonField,
  signatureBytes,
  signatureField,
  submissionSchema,
} from "./validate.ts";
export { type Admission, type Decide, decisions, type WayIn } from "./way-in.ts";
