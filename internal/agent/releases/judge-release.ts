import { matchGlob } from "../../tree/targets/mod.ts";
import type { Administrator } from "../../wire/administrators.ts";
import { releasedUpTo, type SignedOperatorRecord } from "../../wire/operator-record.ts";
import { adminRole, judgeOperator, lastRecordOf, type Standing } from "../../wire/operator-standing.ts";
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
  if (fleet !== rules.fleet) {
    return unproven(
      `it is for the fleet ${fleet}, and this is ${rules.fleet}: run svc states release with the operator file of this fleet`,
    );
  }
  if (!rules.environments.some((pattern) => matchGlob(pattern, environment))) {
    return unproven(`this peel takes no releases of ${environment} (release_environments)`);
  }
  if (rules.administrators.length === 0) return unproven("this peel knows no administrators");
  if (release.releasedAt > at + clockToleranceMs) {
    return unproven("it is from the future by the clock of this host: set it");
  }
  if (!isSignedRelease(release)) return unproven(`the signature of ${operator} is wrong`);
  const last = lastRecordOf(standing, operator, key);
  if (last !== undefined && version > releasedUpTo(last, environment)) {
    const limit = releasedUpTo(last, environment);
    return {
      is: "void",
      reason: `${operator} is disabled, and released ${environment} up to version ${limit}: another operator runs svc states release`,
    };
  }
  const judged = judgeOperator(
    last === undefined ? standing : asIfEnabled(standing, last),
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

/** The same, as if an operator were not disabled or removed. */
function asIfEnabled(standing: Standing, last: SignedOperatorRecord): Standing {
  const { disabled: _, ...enabled } = last;
  return {
    ...standing,
    find: (name) => (name === last.name ? enabled : standing.find(name)),
    versionFloor: (name) => (name === last.name ? 0 : standing.versionFloor(name)),
    isSigned: (one) => standing.isSigned(one === enabled ? last : one),
  };
}
