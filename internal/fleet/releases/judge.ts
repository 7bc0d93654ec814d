import { createBoundedMap } from "../../base/bounded-map.ts";
import { SvcError } from "../../base/errors.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { releasedUpTo } from "../../wire/operator-record.ts";
import { isSignedRelease, openRelease, type SignedRelease } from "../../wire/release.ts";
import type { Registry } from "../operators/mod.ts";

/** Releases whose acceptance is remembered: an environment has few that still matter. */
const maxAccepted = 4_096;

export interface ReleaseJudgeDeps {
  /** Public key of the account of the peels. */
  fleet: string;
  registry: Pick<Registry, "judge" | "lastChainOf">;
  /** Whether operators with these roles may release. */
  mayRelease(roles: readonly string[]): boolean;
  clock: { now(): number };
}

/** Decides which releases count. */
export interface ReleaseJudge {
  /**
   * Why a release does not count now; `undefined` for one that does.
   *
   * The end of an operator does not undo what it released: an accepted release stays until an administrator disables
   * its signer and does not say that it stays released.
   */
  refusalOf(bytes: Uint8Array, release: SignedRelease): string | undefined;
  /** The release in these bytes if it counts now. */
  read(bytes: Uint8Array): SignedRelease | undefined;
  /** Remembers what this master accepted before, such as what its own log of decisions has. */
  remember(bytes: Uint8Array): void;
}

export function createReleaseJudge({ fleet, registry, mayRelease, clock }: ReleaseJudgeDeps): ReleaseJudge {
  const accepted = createBoundedMap<true>(maxAccepted);
  const requested = (release: SignedRelease, at: number): string | undefined => {
    if (release.fleet !== fleet)
      return `it is for the fleet ${release.fleet}, and this is the fleet ${fleet}: run svc states release with the operator file of this fleet`;
    if (!isSignedRelease(release)) return "it is not signed as it is: run svc states release again";
    const { operator, key, environment } = release;
    const judged = registry.judge(operator, key, at);
    if ("operator" in judged) {
      if (mayRelease(judged.operator.roles)) return undefined;
      return `${operator} has no role that allows states release: someone with such a role runs svc states release (svc roles show)`;
    }
    return stayedReleased(registry, release, at) === true
      ? undefined
      : `it is signed by an operator who may not release ${environment} now: ${judged.refused}`;
  };
  const refusalOf: ReleaseJudge["refusalOf"] = (bytes, release) => {
    const at = clock.now();
    const digest = sha256Hex(bytes);
    if (accepted.get(digest) === true) {
      const { operator, environment, version } = release;
      if (stayedReleased(registry, release, at) !== false) return undefined;
      return `${operator} is disabled or removed, and release ${version} of ${environment} did not stay released`;
    }
    const reason = requested(release, at);
    if (reason === undefined) accepted.set(digest, true);
    return reason;
  };
  return {
    refusalOf,
    read(bytes) {
      try {
        const release = openRelease(bytes);
        return refusalOf(bytes, release) === undefined ? release : undefined;
      } catch (thrown) {
        if (thrown instanceof SvcError) return undefined;
        throw thrown;
      }
    },
    remember: (bytes) => void accepted.set(sha256Hex(bytes), true),
  };
}

/**
 * What an administrator who disabled or removed the signer says about a release.
 *
 * @returns `undefined` when no administrator did: what nobody signed undoes nothing
 */
function stayedReleased(
  { lastChainOf }: Pick<Registry, "lastChainOf">,
  { operator, key, environment, version }: SignedRelease,
  at: number,
): boolean | undefined {
  const last = lastChainOf(operator, key, at)?.[0];
  return last && releasedUpTo(last, environment) >= version;
}
