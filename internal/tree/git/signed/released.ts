import type { Contents } from "../../files/mod.ts";
import type { Kept } from "../kept.ts";

/**
 * The newest release of an environment, as far as a ref needs it: it lets the ref move where its signatures do not.
 * Another object as soon as anything changes that it depends on, so that a refusal is remembered with it.
 */
export interface Released {
  /** Rises with each release. */
  version: number;
  /** Whether the environment has exactly the released files when the ref has these. */
  has(files: Contents): boolean;
}

/** A ref, and the commit of it that is in force. */
interface InForce {
  ref: string;
  inForce: string | undefined;
  released: Released | undefined;
}

/**
 * Notes which releases there were when a commit came into force, as far as this host knows. A release moves a ref once:
 * without this, anyone who may push could go back to what was released last, from any signed commit after it.
 */
export function noteReleases(kept: Kept, refs: readonly InForce[]): void {
  const next: Kept["released"] = new Map();
  for (const { ref, inForce, released } of refs) {
    const adopted = kept.refs.get(ref)?.commit;
    const known = adopted === undefined ? undefined : kept.released.get(keyOf(ref, adopted));
    if (adopted !== undefined && known !== undefined) next.set(keyOf(ref, adopted), known);
    if (inForce === undefined) continue;
    const key = keyOf(ref, inForce);
    next.set(key, kept.released.get(key) ?? released?.version ?? 0);
  }
  kept.released = next;
}

/** Notes that a commit is used from now on: releases up to this one do not move the ref any more. */
export function noteAdopted(kept: Kept, ref: string, commit: string, released: Released | undefined): void {
  const key = keyOf(ref, commit);
  if (!kept.released.has(key)) kept.released.set(key, released?.version ?? 0);
}

/** Whether a release is newer than what is in force. */
export function isNewer(
  kept: Kept,
  { version }: Released,
  { ref, inForce }: Pick<InForce, "ref" | "inForce">,
): boolean {
  if (inForce === undefined) return true;
  const known = kept.released.get(keyOf(ref, inForce));
  return known !== undefined && version > known;
}

const keyOf = (ref: string, commit: string): string => `${ref} ${commit}`;
