import { defined } from "../../../base/defined.ts";
import { newId } from "../../../base/id.ts";
import type { Enrollment } from "../record/mod.ts";
import type { EnrollDeps, Proof } from "./deps.ts";

/** The record of a host that asks for the first time. @param former what the enrollment before leaves to it */
export function newRecord(
  deps: Pick<EnrollDeps, "clock" | "random" | "ownCaSpkis">,
  { submission, challenge, evidence, address }: Proof,
  former: Pick<Enrollment, "former">,
): Enrollment {
  const now = deps.clock.now();
  const { attestation } = submission;
  return {
    id: newId("enr", now, deps.random),
    peelId: submission.peelId,
    publicKey: submission.publicKey,
    curvePublicKey: submission.curvePublicKey,
    ...defined({ hostname: submission.hostname, metadata: submission.metadata }),
    ...defined({ address, evidence }),
    ...former,
    state: "pending",
    ...(attestation === undefined
      ? {}
      : {
          trustedCaSpki: attestation.caSpki,
          trustSignature: attestation.signature,
          // Without its own root a master cannot verify the attestation, and does not claim a match.
          trustMismatch: deps.ownCaSpkis.length > 0 && !deps.ownCaSpkis.includes(attestation.caSpki),
        }),
    enrollChallenge: challenge,
    enrollSignature: submission.signature,
    createdAt: now,
    updatedAt: now,
  };
}
