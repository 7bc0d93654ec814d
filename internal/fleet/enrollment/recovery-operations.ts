import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { described, timestamp, titled } from "../../base/schema.ts";
import { verifySignature } from "../../identity/mod.ts";
import { type LearnedKeys, learnedFields, learnedKeys } from "../../wire/learned-keys.ts";
import { operation } from "../operation/mod.ts";
import { type RecoverDeps, readProof, readRecovery, recover, recoverySchema } from "./credentials/mod.ts";
import { peelIdField } from "./joining/mod.ts";
import { enrollmentStates } from "./record/mod.ts";
import type { Directory } from "./store/mod.ts";

export const recoverCredentials = operation({
  name: "enrollments.recover",
  kind: "change",
  summary: "Recover credentials with the enrolled key",
  description:
    "For a peel whose credentials ended or were lost. It makes the key of the next credentials itself. The challenge comes from `GET /api/v1/enroll/nonce`, for the peel ID and the enrolled key.",
  admits: ["anonymous"],
  scope: "public",
  input: recoverySchema,
  output: titled(
    "Recovered",
    v.object({
      peel_id: peelIdField,
      jwt: described(v.string(), "The JWT of the key, for the bus"),
      expires_at: described(timestamp, "When the bus stops accepting it"),
      ...learnedFields,
    }),
  ),
  touches: ({ id }) => ({ enrollment: id }),
  async run({ recover: deps }: { recover: RecoverOperationDeps }, input, { log, note }) {
    note?.({ enrollment_id: input.id });
    const { record, jwt, expiresAt } = await recover({ ...deps, log }, readRecovery(input));
    deps.metrics.credentialsRenewal("recovered");
    return {
      peel_id: record.peelId,
      jwt,
      expires_at: rfc3339(expiresAt),
      ...learnedKeys(deps),
    };
  },
});

export interface RecoverOperationDeps extends RecoverDeps, LearnedKeys {
  metrics: { credentialsRenewal(outcome: "recovered"): void };
}

export interface FindByKeyDeps {
  directory: Pick<Directory, "caughtUp" | "newestOf">;
}

export const findEnrollmentOfKey = operation({
  name: "enrollments.by-key",
  kind: "read",
  summary: "Find the newest enrollment of a peel's own key",
  admits: ["peel"],
  scope: "public",
  input: v.strictObject({
    key: described(v.string(), "The enrolled key, `U…`; every other text is refused as a key without proof"),
  }),
  output: titled(
    "EnrollmentOfKey",
    v.object({ id: described(v.string(), "Id of the enrollment"), state: v.picklist(enrollmentStates) }),
  ),
  async run({ byKey: { directory } }: { byKey: FindByKeyDeps }, { key: publicKey }, { caller, note }) {
    const proof = readProof(caller.kind === "peel" ? caller.proof : undefined);
    const message = Buffer.from(publicKey, "latin1");
    if (proof?.publicKey !== publicKey || !verifySignature("user", publicKey, message, proof.signature)) {
      throw new SvcError(
        "unauthorized",
        "the Authorization header must be Nkey <public key>:<base64url signature of the public key>, of the key in the path",
      );
    }
    await directory.caughtUp();
    const found = directory.newestOf(publicKey);
    if (found === undefined) throw new SvcError("not_found", "this key has no enrollment");
    note?.({ enrollment_id: found.id });
    return found;
  },
});
