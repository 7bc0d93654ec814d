import type { Composition, Environment } from "../../tree/publication/mod.ts";

/** Why a candidate does not come into force. What was in force before stays. */
export interface Refusal {
  environment: string;
  /** Who refuses it: the name of a stage, which is also the name of its check in /readyz. */
  stage: string;
  reason: string;
}

/**
 * A step between what the sources give and what comes into force. It may remember its answers by `candidate.files`:
 * the same files are the same map.
 */
export interface Stage {
  name: string;
  /** @returns why the candidate does not come into force; `undefined` when nothing speaks against it */
  judge(candidate: Environment): Promise<string | undefined> | string | undefined;
}

/** The stage of candidates that wait for a release. They are published in addition to what is in force. */
export const releaseStage = "release";

export interface Decision {
  /** What comes into force, in this order: `base` first. */
  publish: readonly Environment[];
  /** Environments that keep the snapshot that is in force. */
  unchanged: readonly string[];
  /** What waits for a release. */
  offer: readonly Environment[];
  refusals: readonly Refusal[];
}

/**
 * Decides for each environment whether what the sources give comes into force, or what is in force stays.
 *
 * @param composed what the sources give
 * @param published the environments that have a snapshot in force
 * @param refusals what stages say
 * @param max of environments in addition to `base`; those in force come before others
 */
export function decide(
  composed: Composition,
  { published, refusals, max }: { published: readonly string[]; refusals: readonly Refusal[]; max: number },
): Decision {
  const waits = new Set<string>();
  const refused = new Set<string>();
  for (const { environment, stage } of refusals) (stage === releaseStage ? waits : refused).add(environment);
  const inForce = new Set(published);
  const stay = new Set(composed.unchanged.filter((name) => inForce.has(name)));
  for (const { name } of composed.environments) if (refused.has(name) && inForce.has(name)) stay.add(name);
  const wanted = composed.environments.filter(({ name }) => !refused.has(name));
  const rank = ({ name }: Environment) => (name === "base" ? 0 : inForce.has(name) ? 1 : 2);
  const ordered = wanted.toSorted((a, b) => rank(a) - rank(b));
  let room = max - [...stay].filter((name) => name !== "base").length;
  const fits = ordered.filter(({ name }) => name === "base" || room-- > 0);
  const omitted = ordered.filter((environment) => !fits.includes(environment));
  const offer = fits.filter(({ name }) => waits.has(name));
  for (const { name } of offer) if (inForce.has(name)) stay.add(name);
  return {
    publish: fits.filter(({ name }) => !waits.has(name)),
    unchanged: [...stay],
    offer,
    refusals: [
      ...composed.unchanged.map((environment) => ({
        environment,
        stage: "sources",
        reason: "one of its sources cannot be read now",
      })),
      ...refusals,
      ...omitted.map(({ name }) => ({
        environment: name,
        stage: "gitfs",
        reason: `there are more than ${max} environments (gitfs.max_environments)`,
      })),
    ],
  };
}

/** Runs every stage on every candidate, in order; the first reason counts. @throws what a stage throws */
export async function runStages(
  stages: readonly Stage[],
  candidates: readonly Environment[],
): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  for (const candidate of candidates) {
    for (const { name, judge } of stages) {
      const reason = await judge(candidate);
      if (reason === undefined) continue;
      refusals.push({ environment: candidate.name, stage: name, reason });
      break;
    }
  }
  return refusals;
}
