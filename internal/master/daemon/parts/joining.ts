import { encode } from "../../../base/msgpack.ts";
import { sha256 } from "../../../base/sha256.ts";
import type { Recorder } from "../../../fleet/audit/mod.ts";
import type { EnrollDeps } from "../../../fleet/enrollment/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { createEvidence } from "../evidence.ts";
import type { MasterDeps } from "../options.ts";
import type { Audited } from "./audit.ts";
import type { Stored } from "./storage.ts";

/** What may decide about hosts that ask to join, in place of an operator. */
export const joining = {
  start: (
    deps: Pick<MasterDeps, "config" | "clock" | "random" | "log"> &
      Pick<Audited, "recorder"> &
      Pick<Stored, "recordMac">,
  ) =>
    assemble(async () => {
      const evidence = createEvidence(deps.config, deps);
      const isAccepted = evidence.types.length > 0;
      const joining: Pick<EnrollDeps, "waysIn" | "begin" | "verifyEvidence"> = {
        waysIn: [],
        begin: recordDecisions(deps.recorder),
        ...(isAccepted ? { verifyEvidence: evidence.verify } : {}),
      };
      return {
        joining,
        accepted: isAccepted ? { evidence: evidence.types } : {},
        tpm: evidence.types.includes("tpm") ? { challengeTpm: evidence.challengeTpm } : {},
      };
    }),
};

export type Joining = OffersOf<typeof joining>;

/** Records what a way in decides about a host in the audit, like a decision of an operator. */
function recordDecisions(recorder: Pick<Recorder, "begin">): EnrollDeps["begin"] {
  return async ({ action, by, enrollment, peel }) => {
    const subjects = { enrollment, peel };
    const content = { operator: by, key: "", via: "policy" as const, action, subjects, requestId: "" };
    const end = await recorder.begin({ ...content, requestDigest: sha256(encode(subjects)) });
    return (outcome) => end({ outcome });
  };
}
