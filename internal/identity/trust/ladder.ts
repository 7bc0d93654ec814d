/** A CA file: its path, for messages, and its PEM text. */
export interface CaFile {
  path: string;
  pem: string;
}

/** The sources a peel has to verify a master. */
export interface TrustSources {
  /** Rung 1: the file of `enroll_ca`. */
  enrollCa?: CaFile;
  /** Rung 2: `enroll_ca_pin`. */
  pins: readonly string[];
  /** Rung 3: the persisted anchor. An empty or damaged file is still an anchor, which no master matches. */
  anchor?: CaFile;
  hasCredentials: boolean;
  mode: "tofu" | "strict";
}

/** How the enrollment connection is verified. */
export type Rung =
  | { rung: 1 | 3; ca: CaFile }
  | { rung: 2; pins: readonly string[] }
  /** Standard verification; `firstUse` says whether an unknown authority may be trusted once (rung 5). */
  | { rung: 4; firstUse: boolean };

/**
 * The first rung that applies (specification, "Peel trust ladder"). A mismatch on it is final: a strict
 * rung never falls back to a lower one.
 */
export function chooseRung(sources: TrustSources): Rung {
  if (sources.enrollCa !== undefined) return { rung: 1, ca: sources.enrollCa };
  if (sources.pins.length > 0) return { rung: 2, pins: sources.pins };
  if (sources.anchor !== undefined) return { rung: 3, ca: sources.anchor };
  return { rung: 4, firstUse: sources.mode === "tofu" && !sources.hasCredentials };
}
