import type { EvidenceType } from "./message.ts";

/** What a host must have signed: a challenge of a master, and its own key. */
export interface Claim {
  /** 32 bytes. */
  challenge: Uint8Array;
  /** The key of the peel, `U…`. */
  publicKey: string;
  /** The name that the peel wants, with dots. */
  host: string;
}

/** What evidence proves, as the record shows it. */
export interface Proven {
  type: EvidenceType;
  fields: Record<string, string | string[]>;
}
