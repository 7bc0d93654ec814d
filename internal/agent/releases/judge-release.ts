import { matchGlob } from "../../tree/targets/mod.ts";
import type { Administrator } from "../../wire/administrators.ts";
import { adminRole, judgeOperator, type Standing } from "../../wire/operator-standing.ts";
import { isSignedRelease, type SignedRelease } from "../../wire/release.ts";
import { clockToleranceMs } from "../../wire/verify-request.ts";

/** Which releases count on a peel. */
export interface ReleaseRules {
  administrators: readonly Administrator[];
  /** Public key of the account of the peels, from the credentials; absent before the peel has some. */
  fleet: string | undefined;
  /** Roles whose operators may release, besides `admin`. */
  roles: readonly string[];
  /** Patterns of the environments that can be released. */
  environments: readonly string[];
}

/**
 * How a release stands. One that is `void` is as if it had never been: its signer was disabled, and an administrator
 * signed that it does not stay. One that is `unproven` does not run, and still no older one takes its place: a
 * master that withholds a record must not bring an older release back.
 */
export type Verdict = { is: "good" } | { is: "void" | "unproven"; reason: string };

/**
 * Judges a release.
 *
 * @param at when this peel first saw it, milliseconds since the Unix epoch: an operator whose time ends later released
 *   it nevertheless
 */
export function judgeRelease(
  release: SignedRelease,
  rules: ReleaseRules,
  standing: Standing,
  at: number,
): Verdict {
  const unproven = (reason: string): Verdict => ({ is: "unproven", reason });
  const { fleet, environment, operator, key, version } = release;
  if (rules.fleet === undefined)
    return unproven("this peel does not know its fleet: it has no credentials yet");
  if (fleet !== rules.fleet) return unproven(`it is for the fleet ${fleet}, and this is ${rules.fleet}`);
  if (!rules.environments.some((pattern) => matchGlob(pattern, environment))) {
    return unproven(`this peel takes no releases of ${environment} (release_environments)`);
  }
  if (rules.administrators.length === 0) return unproven("this peel knows no administrators");
  if (release.releasedAt > at + clockToleranceMs) {
    return unproven("it is from the future by the clock of this host: set it");
  }
  if (!isSignedRelease(release)) return unproven(`the signature of ${operator} is wrong`);
  const limit = limitOf(standing, operator, environment);
  if (limit !== undefined && version > limit) {
    return {
      is: "void",
      reason: `${operator} is disabled, and released ${environment} up to version ${limit}`,
    };
  }
  const judged = judgeOperator(
    limit === undefined ? standing : lifted(standing, operator),
    operator,
    key,
    at,
  );
  if ("refused" in judged) return unproven(judged.refused);
  return mayRelease(judged.operator.roles, rules.roles)
    ? { is: "good" }
    : unproven(
        `${operator} has no role that may release for this peel: ${[adminRole, ...rules.roles].join(", ")} (release_roles)`,
      );
}

/** Whether an operator with these roles may release state files for a peel. */
export const mayRelease = (own: readonly string[], allowed: readonly string[]): boolean =>
  own.some((role) => role === adminRole || allowed.includes(role));

/** Up to which version the releases of a disabled operator stay; `undefined` for one that is not disabled. */
function limitOf(standing: Standing, operator: string, environment: string): number | undefined {
  const record = standing.find(operator);
  if (record?.disabled !== true || !standing.isSigned(record)) return undefined;
  const { released = {} } = record;
  return Object.hasOwn(released, environment) ? released[environment] : 0;
}

/** The same, as if this operator were not disabled. */
function lifted(standing: Standing, operator: string): Standing {
  const record = standing.find(operator);
  if (record === undefined) return standing;
  const { disabled: _, ...enabled } = record;
  return {
    ...standing,
    find: (name) => (name === operator ? enabled : standing.find(name)),
    isSigned: (one) => standing.isSigned(one === enabled ? record : one),
  };
}
