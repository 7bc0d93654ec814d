import { isEnvironmentName } from "../files/manifest.ts";

/** A branch or tag and what it points at. */
export interface Ref {
  /** `refs/heads/main` */
  name: string;
  /** Of the commit, or of the tag object of an annotated tag. */
  object: string;
}

/** Branches that become the environment `base`: the first that is there. */
const baseBranches = ["refs/heads/main", "refs/heads/master", "refs/heads/base"];

/** Reads what `git ls-remote` says of branches and tags. */
export function parseRefs(text: string): Ref[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([0-9a-f]{40,64})\t(refs\/(?:heads|tags)\/\S+)$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined || match[2].endsWith("^{}")) return [];
    return [{ object: match[1], name: match[2] }];
  });
}

/**
 * Gives branches and tags the names of environments: `main`, or else `master`, is `base`, everything else
 * is called what it is called. Of a branch and a tag with the same name the branch counts.
 *
 * @param warnings gets a line for each one that cannot be an environment
 */
export function environmentsOf(refs: readonly string[], warnings: string[]): Map<string, string> {
  const names = new Set(refs);
  const base = baseBranches.find((name) => names.has(name));
  const found = new Map<string, string>(base === undefined ? [] : [["base", base]]);
  const branchesFirst = refs.toSorted((a, b) => (a < b ? -1 : 1));
  for (const ref of branchesFirst) {
    if (ref === base) continue;
    const name = ref.replace(/^refs\/(?:heads|tags)\//, "");
    if (!isEnvironmentName(name)) warnings.push(`${ref}: cannot be the name of an environment`);
    else if (found.has(name)) warnings.push(`${ref}: ${found.get(name)} is the environment ${name} already`);
    else found.set(name, ref);
  }
  return found;
}
