import { SvcError } from "../../base/errors.ts";
import type { Enrollment } from "../enrollment/record/mod.ts";
import type { Answer } from "./answer.ts";
import { createPolicyEngine } from "./decide.ts";
import { explainPolicy, type Verdict } from "./describe.ts";
import { lintPolicy } from "./lint.ts";
import type { Applicant } from "./match.ts";
import type { ExternalDeps, Failure } from "./request-external.ts";

/** What a program or webhook answered about a host that does not exist. */
export type Tried = Answer & { failure?: { kind: Failure; reason: string } };

/**
 * Says which rule of a file decides about a host.
 *
 * @param running what it takes to ask the program or webhook of that rule; absent to run nothing
 * @throws SvcError `bad_request` for a file with a problem, `not_found` without one
 */
export async function tryPolicy(
  path: string,
  applicant: Applicant,
  running: ExternalDeps | undefined,
): Promise<Verdict & { answer?: Tried }> {
  const { policy, problems } = lintPolicy(path);
  if (policy === undefined) throw new SvcError("bad_request", problems.join("; "));
  const verdict = explainPolicy(policy, applicant);
  if (running === undefined) return verdict;
  const engine = createPolicyEngine({ ...running, policy: () => policy });
  const decision = await engine.decide(recordOf(applicant, running.clock.now()));
  if (decision === undefined) return verdict;
  const { rule: _, ...answer } = decision;
  return { ...verdict, answer };
}

/** A record as a master would ask about it, with keys that nobody has. */
function recordOf(applicant: Applicant, now: number): Enrollment {
  return {
    ...applicant,
    ...{ id: "enr-test", publicKey: "-", curvePublicKey: "-", state: "pending" },
    ...{ createdAt: now, updatedAt: now },
    ...(applicant.trustedCaSpki === undefined ? {} : { trustMismatch: false }),
  };
}
