import type { EvidenceType } from "../../identity/evidence/mod.ts";

/** What evidence signs. */
export interface ToSign {
  /** 32 bytes. */
  challenge: Uint8Array;
  /** The key of the peel, `U…`. */
  publicKey: string;
}

/** What a master asks for. */
export interface EvidenceRequest extends ToSign {
  /** The types of evidence that this master accepts. */
  accepts: readonly string[];
  /**
   * Asks the master for a secret that only this TPM can open.
   *
   * @returns `undefined` when the master has no answer to it
   * @throws SvcError `forbidden` when the master refuses this TPM
   */
  credential(keys: { ek_certificate: string; ak_public: string }): Promise<TpmCredential | undefined>;
}

/** A secret for a TPM, in base64. */
export interface TpmCredential {
  /** `TPM2B_ID_OBJECT`. */
  credential_blob: string;
  /** `TPM2B_ENCRYPTED_SECRET`. */
  encrypted_secret: string;
}

/** The field `evidence` of an enrollment. */
export type EvidenceBody = { type: EvidenceType } & Record<string, string>;

/**
 * Makes the evidence to send; `undefined` for none.
 *
 * @throws SvcError `bad_request` naming the key of the configuration whose file cannot be used
 */
export type Prove = (request: EvidenceRequest) => Promise<EvidenceBody | undefined>;
