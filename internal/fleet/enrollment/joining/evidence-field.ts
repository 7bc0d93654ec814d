import * as v from "valibot";
import { defined } from "../../../base/defined.ts";
import { described } from "../../../base/schema.ts";
import type { SshEvidence, TpmEvidence, X509Evidence } from "../../../identity/evidence/mod.ts";

const maxLength = 12 * 1024;
const text = (description: string) =>
  described(
    v.pipe(v.string(), v.maxLength(maxLength, `must have at most ${maxLength} characters`)),
    description,
  );

/** The keys of a TPM. */
export const tpmKeyFields = {
  ek_certificate: text("Endorsement certificate of the TPM: base64 of DER"),
  ak_public: text("`TPM2B_PUBLIC` of an attestation key of the same TPM, in base64"),
};

/** The field `evidence` of `POST /api/v1/enroll`. Only its form is judged here. */
export const evidenceField = v.variant("type", [
  v.strictObject({
    type: v.literal("x509"),
    chain_pem: text("Certificates in PEM, that of the host first"),
    signature: text("Signature by the key of the certificate, in base64"),
  }),
  v.strictObject({
    type: v.literal("tpm"),
    ...tpmKeyFields,
    attest: text("`TPMS_ATTEST` of a quote over the challenge, in base64"),
    signature: text("`TPMT_SIGNATURE` of the attestation key, in base64"),
    secret: text("What the TPM found in the credential, in base64"),
  }),
  v.strictObject({
    type: v.literal("ssh"),
    public_key: text("SSH host key: `<type> <base64>`"),
    certificate: v.optional(described(v.nullable(text("")), "Certificate of this key by an SSH authority")),
    signature: text("Signature blob of SSH, in base64"),
  }),
]);

/** Evidence as a host sent it, which proves nothing yet. */
export type SentEvidence =
  | ({ type: "x509" } & X509Evidence)
  | ({ type: "ssh" } & SshEvidence)
  | ({ type: "tpm" } & TpmEvidence);

export function readEvidence(fields: v.InferOutput<typeof evidenceField>): SentEvidence {
  switch (fields.type) {
    case "x509":
      return { type: "x509", chainPem: fields.chain_pem, signature: fields.signature };
    case "tpm": {
      const { ek_certificate: ekCertificate, ak_public: akPublic, attest, signature, secret } = fields;
      return { type: "tpm", ekCertificate, akPublic, attest, signature, secret };
    }
    case "ssh":
      return {
        type: "ssh",
        publicKey: fields.public_key,
        signature: fields.signature,
        ...defined({ certificate: fields.certificate ?? undefined }),
      };
  }
}
