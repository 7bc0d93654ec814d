import * as v from "valibot";
import { encodeBase64 } from "../../base/base64.ts";
import { SvcError } from "../../base/errors.ts";
import { described, titled } from "../../base/schema.ts";
import type { TpmKeys } from "../../identity/evidence/mod.ts";
import { publicKeyField } from "../../wire/public-keys.ts";
import { operation } from "../operation/mod.ts";
import {
  type ChallengeDeps,
  challengeIdField,
  peelIdField,
  readChallenge,
  tpmKeyFields,
} from "./joining/mod.ts";

export interface ChallengeTpmDeps extends Omit<ChallengeDeps, "random"> {
  /**
   * Makes a secret that only this TPM can open; absent when this master accepts no TPM.
   *
   * @throws SvcError `unauthorized` when the TPM is not trusted, `unavailable` when this master cannot tell now
   */
  challengeTpm?(
    keys: TpmKeys,
    claim: { challenge: Uint8Array; publicKey: string; peelId: string },
  ): Promise<{ blob: Uint8Array; secret: Uint8Array }>;
}

export const challengeTpm = operation({
  name: "enrollments.challenge-tpm",
  kind: "read",
  summary: "Get a secret that only the TPM of this host can open",
  description:
    "The first round trip of evidence by TPM. `TPM2_ActivateCredential` opens the secret, which is then a field of `evidence`. The challenge stays valid. Where the master accepts no TPM, the answer is 404.",
  admits: ["anonymous"],
  scope: "public",
  input: v.strictObject({
    peel_id: peelIdField,
    public_key: publicKeyField,
    challenge_id: challengeIdField,
    ...tpmKeyFields,
  }),
  output: titled(
    "TpmCredential",
    v.object({
      credential_blob: described(v.string(), "`TPM2B_ID_OBJECT` in base64"),
      encrypted_secret: described(v.string(), "`TPM2B_ENCRYPTED_SECRET` in base64"),
    }),
  ),
  touches: ({ peel_id }) => ({ peel: peel_id }),
  async run({ challengeTpm: deps }: { challengeTpm: ChallengeTpmDeps }, input) {
    if (deps.challengeTpm === undefined) {
      throw new SvcError("not_found", "this master accepts no TPM: enroll.evidence.tpm_ca is not set");
    }
    const [peelId, publicKey] = [input.peel_id, input.public_key];
    const challenge = await readChallenge(deps, input.challenge_id, { peelId, publicKey });
    const keys = { ekCertificate: input.ek_certificate, akPublic: input.ak_public };
    const { blob, secret } = await deps.challengeTpm(keys, { challenge, publicKey, peelId });
    return { credential_blob: encodeBase64(blob), encrypted_secret: encodeBase64(secret) };
  },
});
