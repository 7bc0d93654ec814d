import { encode } from "../../../base/msgpack.ts";
import { sha256 } from "../../../base/sha256.ts";
import type { Recorder } from "../../../fleet/audit/mod.ts";
import type { EnrollDeps } from "../../../fleet/enrollment/mod.ts";
import { createExpectedWay } from "../../../fleet/expected/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { createEvidence } from "../evidence.ts";
import { startJoinTokens } from "../join-tokens.ts";
import type { MasterDeps } from "../options.ts";
import type { Audited } from "./audit.ts";
import type { Fleet } from "./fleet.ts";
import type { Stored } from "./storage.ts";

/** What may decide about hosts that ask to join, in place of an operator. */
export const joining = {
  start: (deps: MasterDeps & Stored & Fleet & Audited) =>
    assemble(async (stack) => {
      const { recorder, storage, recordMac: mac, directory, config, clock, log } = deps;
      const { enrollments, expected: bucket } = storage;
      const joinTokens = startJoinTokens(deps);
      stack.defer(() => joinTokens.stop());
      const expected = { bucket, mac, enrollments, directory, clock, log };
      const evidence = createEvidence(config, { clock, log });
      const isAccepted = evidence.types.length > 0;
      const joining: Pick<EnrollDeps, "waysIn" | "begin" | "verifyEvidence"> = {
        // What a host brings counts before what is known of it.
        waysIn: [joinTokens.way, createExpectedWay(expected)],
        begin: recordDecisions(recorder),
        ...(isAccepted ? { verifyEvidence: evidence.verify } : {}),
      };
      const accepted = isAccepted ? { evidence: evidence.types } : {};
      return { joining, joinTokens, expected, accepted };
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
