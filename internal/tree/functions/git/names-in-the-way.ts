import { StateFailure } from "../../function/mod.ts";
import type { Git } from "./git-program.ts";

/**
 * The names of a set that git cannot have together with others, because a name is also the directory of names: while
 * `feature` exists, `feature/x` cannot.
 */
function conflicting(names: readonly string[], wanted: readonly string[]): string[] {
  const exact = new Set(wanted);
  const above = new Set(wanted.flatMap(parentsOf));
  return names.filter((name) => above.has(name) || parentsOf(name).some((each) => exact.has(each)));
}

/** Removes copies of names of a repository that it cannot have any more, for it has names that they exclude. */
export async function dropStaleNames(
  git: Git,
  { target, remote }: { target: string; remote: string },
  there: readonly string[],
): Promise<void> {
  const wanted = there.map((name) => name.replace(/^refs\/heads\//, `refs/remotes/${remote}/`));
  const known = await listNames(git, target, [`refs/remotes/${remote}`, "refs/tags"]);
  for (const name of conflicting(known, wanted)) await git(["update-ref", "-d", name], target);
}

/** Local branches that exclude another one. */
export async function branchesInTheWay(git: Git, target: string, branch: string): Promise<string[]> {
  const names = await listNames(git, target, ["refs/heads"]);
  const branches = names.map((name) => name.slice("refs/heads/".length));
  return conflicting(branches, [branch]);
}

/** Removes local branches; git refuses one that another work tree has checked out. */
export async function dropBranches(git: Git, target: string, branches: readonly string[]): Promise<void> {
  for (const each of branches) await git(["branch", "--quiet", "-D", "--", each], target);
}

/** @throws StateFailure when a branch has commits that only it has */
export function refuseLoss(branch: string, wanted: string): never {
  throw new StateFailure(
    `the local branch ${branch} excludes the name ${wanted} and has commits that no branch of the repository has; set force_reset: true to discard them`,
  );
}

async function listNames(git: Git, target: string, below: readonly string[]): Promise<string[]> {
  const output = await git(["for-each-ref", "--format=%(refname)", ...below], target);
  return output.split("\n").filter((name) => name !== "");
}

/** `a/b/c` is in `a/b` and in `a`. */
function parentsOf(name: string): string[] {
  const parts = name.split("/");
  return parts.slice(0, -1).map((_, length) => parts.slice(0, length + 1).join("/"));
}
