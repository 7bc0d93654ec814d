import { isEnvironmentName } from "../../base/names/names.ts";

/** A branch or tag and its object. */
export interface Ref {
  /** `refs/heads/main` */
  name: string;
  /** Id of the commit, or of the tag object of an annotated tag. */
  object: string;
}

/** Candidate branches for the environment `base`: the first existing one is used. */
const baseBranches = ["refs/heads/main", "refs/heads/master", "refs/heads/base"];

/** Parses branches and tags from the output of `git ls-remote`. */
export function parseRefs(text: string): Ref[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([0-9a-f]{40,64})\t(refs\/(?:heads|tags)\/\S+)$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined || match[2].endsWith("^{}")) return [];
    return [{ object: match[1], name: match[2] }];
  });
}

/**
 * Maps branches and tags to environment names: `main`, or else `master`, is `base`; others keep their name.
 * Of a branch and a tag with the same name, the branch wins.
 *
 * @param warnings receives a line for each ref that cannot be an environment
 */
export function environmentsOf(refs: readonly string[], warnings: string[]): Map<string, string> {
  const names = new Set(refs);
  const base = baseBranches.find((name) => names.has(name));
  const found = new Map<string, string>(base === undefined ? [] : [["base", base]]);
  const branchesFirst = refs.toSorted((a, b) => (a < b ? -1 : 1));
  for (const ref of branchesFirst) {
    if (ref === base) continue;
    const name = ref.replace(/^refs\/(?:heads|tags)\//, "");
    if (!isEnvironmentName(name)) warnings.push(`${ref}: not a valid environment name`);
    else if (found.has(name)) warnings.push(`${ref}: ${found.get(name)} is already the environment ${name}`);
    else found.set(name, ref);
  }
  return found;
}
