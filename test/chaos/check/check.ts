import type { Check, Entry, FinalState, Violation } from "../history.ts";
import { checkAcknowledged } from "./acknowledged.ts";
import { checkCredentialsOnce } from "./credentials-once.ts";
import { checkEffectsOnce } from "./effects-once.ts";
import { checkEnrollmentStates } from "./enrollment-states.ts";
import { checkOutcomes } from "./outcomes.ts";
import { checkReadiness } from "./readiness.ts";
import { checkReplicas } from "./replicas.ts";
import { checkRevokedConnected } from "./revoked-connected.ts";

/** Every invariant, under the name of its column. */
export const invariants: Readonly<Record<string, Check>> = {
  "one state": checkEnrollmentStates,
  "credentials once": checkCredentialsOnce,
  "revoked stay out": checkRevokedConnected,
  "effects once": checkEffectsOnce,
  "one true outcome": checkOutcomes,
  "nothing lost": checkAcknowledged,
  "replicas equal": checkReplicas,
  "readiness true": checkReadiness,
};

/** Everything that a run broke, in the order in which it began. */
export function checkAll(history: readonly Entry[], final: FinalState): Violation[] {
  return Object.values(invariants)
    .flatMap((check) => check(history, final))
    .sort((a, b) => a.at - b.at);
}
