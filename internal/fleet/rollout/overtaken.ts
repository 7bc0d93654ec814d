import type { Rollout } from "./record.ts";

/** The newest releases of state files, and the peels that run no other files unless an operator signs. */
export interface ReleasesInForce {
  /** The newest release of an environment. */
  newest(environment: string): { version: number; snapshot: string } | undefined;
  /** The version of the newest release of these files. */
  versionOf(files: { environment: string; snapshot: string }): number | undefined;
  insists(peel: string): boolean;
}

/** Why such a rollout is paused. */
export const releasedAnew = (environment: string): string => `${environment} was released anew`;

/** The version after which a release overtakes a rollout that nobody signed; absent for one that runs no files. */
export function releaseOf(
  { content, released = content }: Pick<Rollout, "content" | "released">,
  { newest, versionOf }: Pick<ReleasesInForce, "newest" | "versionOf">,
): number | undefined {
  if (released === undefined) return undefined;
  // There may be a newer one since its files were determined.
  return versionOf(released) ?? newest(released.environment)?.version ?? 0;
}

/**
 * Whether a rollout that nobody signed began before the newest release of its environment, which has other files. Those
 * of its peels that run released files alone refuse the rest of it, so its waves would fail for a reason that has
 * nothing to do with its files.
 *
 * @param peels all of its peels
 * @returns the version of that release
 */
export function overtakenBy(
  { content, released = content, release, request }: Rollout,
  peels: readonly string[],
  { newest, insists }: ReleasesInForce,
): number | undefined {
  if (released === undefined || release === undefined || request !== undefined) return undefined;
  const now = newest(released.environment);
  if (now === undefined || now.version <= release || now.snapshot === released.snapshot) return undefined;
  return peels.some(insists) ? now.version : undefined;
}
