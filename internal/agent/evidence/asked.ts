import type { EvidenceType } from "../../identity/evidence/mod.ts";

/** What a master asks to sign. */
export interface Asked {
  /** The types of evidence that this master accepts. */
  accepts: readonly string[];
  /** 32 bytes. */
  challenge: Uint8Array;
  /** The key of the peel, `U…`. */
  publicKey: string;
}

/** The field `evidence` of an enrollment. */
export type EvidenceBody = { type: EvidenceType } & Record<string, string>;

/**
 * Makes the evidence to send; `undefined` for none.
 *
 * @throws SvcError `bad_request` naming the key of the configuration whose file cannot be used
 */
export type Prove = (asked: Asked) => Promise<EvidenceBody | undefined>;
