import { type Contents, overlay, snapshotOf } from "../../tree/files/mod.ts";
import type { Released } from "../../tree/git/mod.ts";
import type { Layer } from "../../tree/publication/mod.ts";

/** What operators released, for refs whose commits need signatures. */
export interface RefReleases {
  /** The newest release of an environment that counts. */
  newest(environment: string): { version: number; snapshot: string } | undefined;
  /** Calls `run` after each change. @returns a function that stops it */
  onChange(run: () => void): () => void;
}

/**
 * Finds the release that a ref of a repository may move with. A release is of all files of an environment, so those of
 * the ref are laid among those of the other sources.
 *
 * @param layers the sources, in order of precedence
 * @returns the same object as long as the release and the other sources are the same
 */
export function createReleasedRefs(
  { newest }: Pick<RefReleases, "newest">,
  layers: () => readonly Layer[],
): (remote: string, environment: string) => Released | undefined {
  const known = new Map<string, { version: number; others: Parts; released: Released }>();
  return (remote, environment) => {
    const found = newest(environment);
    if (found === undefined) return undefined;
    const { version, snapshot } = found;
    const others: Parts = layers().map((layer) =>
      layer.remote === remote ? "own" : layer.environments.get(environment)?.files,
    );
    const key = `${remote} ${environment}`;
    const before = known.get(key);
    if (before?.version === version && isSame(before.others, others)) return before.released;
    const has = (files: Contents) => {
      const parts = others.flatMap((part) => (part === "own" ? [files] : part === undefined ? [] : [part]));
      return snapshotOf(overlay(parts)) === snapshot;
    };
    const released = { version, has };
    known.set(key, { version, others, released });
    return released;
  };
}

/** The files of each source; the repository in question has none yet. */
type Parts = readonly (Contents | "own" | undefined)[];

const isSame = (one: Parts, other: Parts): boolean =>
  one.length === other.length && one.every((part, at) => part === other[at]);
