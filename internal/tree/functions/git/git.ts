import { readdirSync } from "node:fs";
import { basename } from "node:path";
import type { Plain } from "../../../base/msgpack.ts";
import { findAccount } from "../../../base/process/account.ts";
import { arg } from "../../../host/modules/mod.ts";
import {
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { noAttributes } from "../file/attributes.ts";
import { kindOf, statIfPresent } from "../file/inspect.ts";
import { makeDirectoryIn, openParents } from "../file/parents.ts";
import { pathOf } from "../file/path.ts";
import { credentialArgs, remoteOf } from "./git-credentials.ts";
import { type Git, openGit, shownUrl } from "./git-program.ts";
import { userFor } from "./git-user.ts";
import { branchesInTheWay, dropBranches, dropStaleNames, refuseLoss } from "./names-in-the-way.ts";

/** The commit that this state checked out last. */
const leftAt = "refs/svc/latest";
const hexadecimal = /^[0-9a-f]{40}$|^[0-9a-f]{64}$/;

const gitLatest = defineState({
  name: "git.latest",
  doc: "Ensures that a directory is a clone of a repository, at the newest commit of a branch, or at a tag or commit.",
  args: {
    target: arg.path("The directory of the clone.", { required: true }),
    rev: arg.string("A branch, tag or full commit id; HEAD of the repository by default."),
    branch: arg.string("Name of the local branch; by default the branch named by rev, if any."),
    user: arg.string(
      "User that git runs as and that owns the files. By default the user of the peel, or the owner of the directory where another user can change it.",
    ),
    remote: arg.string("Name of the remote; origin by default."),
    identity: arg.path("File with the private key for ssh."),
    ...credentialArgs,
    depth: arg.integer("Number of commits of history to fetch; all by default.", { min: 1 }),
    submodules: arg.boolean("Also updates submodules."),
    force_reset: arg.boolean("Discards local changes, and commits that the repository does not have."),
    force_clone: arg.boolean("Clones into a directory that is not empty; existing files may be replaced."),
  },
  refuse(args) {
    const odd = (["rev", "branch", "remote"] as const).find((name) => {
      const value = args[name];
      return value !== undefined && !isRefName(value);
    });
    if (odd !== undefined) return `${odd}: expected a valid git name`;
    if (args.identity?.includes('"')) return "identity: expected a path without quotes";
    return pathProblem(args.target);
  },
  async plan(name, args, context) {
    requireUrl(name);
    const repository = remoteOf(name, args);
    const { url } = repository;
    const target = pathOf(args.target);
    const user = await userFor(target, args.user, context);
    const git = await openGit({ user, identity: args.identity, remote: repository, target }, context);
    const wish: Wish = { ...args, url, target, remote: args.remote ?? "origin", user };
    const before = statIfPresent(target);
    if (before !== undefined && !before.isDirectory()) {
      throw new StateFailure(`${target} is a ${kindOf(target, before)}`);
    }
    const isClone = before !== undefined && statIfPresent(`${target}/.git`) !== undefined;
    if (!isClone && before !== undefined && readdirSync(target).length > 0 && args.force_clone !== true) {
      throw new StateFailure(
        `${target} is not empty and is not a clone; set force_clone: true to clone into it and replace files`,
      );
    }
    return isClone ? planUpdate(git, wish) : planClone(git, wish, context);
  },
});

const gitCloned = defineState({
  name: "git.cloned",
  doc: "Ensures that a directory is a clone of a repository. An existing clone is not updated; only its branch is checked out.",
  args: {
    target: arg.path("The directory of the clone.", { required: true }),
    branch: arg.string("A branch or tag; HEAD of the repository by default."),
    user: arg.string("User that git runs as and that owns the files."),
    identity: arg.path("File with the private key for ssh."),
    ...credentialArgs,
  },
  refuse({ target, branch, identity }) {
    if (branch !== undefined && !isRefName(branch)) return "branch: expected a valid git name";
    if (identity?.includes('"')) return "identity: expected a path without quotes";
    return pathProblem(target);
  },
  async plan(name, args, context) {
    requireUrl(name);
    const remote = remoteOf(name, args);
    const { url } = remote;
    const target = pathOf(args.target);
    const before = statIfPresent(target);
    if (before !== undefined && !before.isDirectory()) {
      throw new StateFailure(`${target} is a ${kindOf(target, before)}`);
    }
    const open = async () => {
      const user = await userFor(target, args.user, context);
      return { user, git: await openGit({ user, identity: args.identity, remote, target }, context) };
    };
    if (before !== undefined && statIfPresent(`${target}/.git`) !== undefined) {
      return planBranch((await open()).git, target, args.branch);
    }
    if (before !== undefined && readdirSync(target).length > 0) {
      throw new StateFailure(`${target} is not empty and is not a clone`);
    }
    return {
      // The branches of the repository are read only when it is cloned.
      changes: { [target]: { created: true, url: shownUrl(url) } },
      comment: `${shownUrl(url)} would be cloned to ${target}`,
      async apply() {
        const { git, user } = await open();
        const none = { depth: undefined, submodules: undefined, force_reset: undefined, branch: undefined };
        const wish: Wish = { ...none, url, target, remote: "origin", rev: args.branch, user };
        return (await planClone(git, wish, context)).apply?.();
      },
    };
  },
});

/** States of Git repositories. */
export const gitStates: readonly StateFunction[] = [gitLatest, gitCloned];

function requireUrl(url: string): void {
  if (url.startsWith("-") || /[\0\n]/.test(url)) {
    throw new StateFailure("name: expected the URL of a repository");
  }
}

/** Plans the check-out of a branch or tag in a clone, from what was fetched before. */
async function planBranch(git: Git, target: string, branch: string | undefined): Promise<Plan> {
  const named = await currentBranch(git, target);
  if (branch === undefined || branch === named) return { changes: {}, comment: `${target} is a clone` };
  const head = await optional(git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], target));
  const tag = await optional(
    git(["rev-parse", "--verify", "--quiet", `refs/tags/${branch}^{commit}`], target),
  );
  if (tag !== undefined && tag === head) return { changes: {}, comment: `${target} is at ${branch}` };
  return {
    changes: { [target]: { branch: { old: named ?? head ?? null, new: branch } } },
    comment: `${branch} would be checked out in ${target}`,
    async apply() {
      await git(["checkout", "--quiet", branch, "--"], target);
      return { comment: `${branch} was checked out in ${target}` };
    },
  };
}

/** The branch of HEAD. Git's own short form of it is longer while a tag has the same name. */
async function currentBranch(git: Git, target: string): Promise<string | undefined> {
  const ref = await optional(git(["symbolic-ref", "--quiet", "HEAD"], target));
  return ref?.replace(/^refs\/heads\//, "");
}

interface Wish {
  url: string;
  target: string;
  remote: string;
  rev: string | undefined;
  branch: string | undefined;
  user: string | undefined;
  depth: number | undefined;
  submodules: boolean | undefined;
  force_reset: boolean | undefined;
}

/** What `rev` currently refers to in the repository. */
interface Wanted {
  commit: string;
  /** `refs/heads/main`, or the commit itself. */
  ref: string;
  /** The local branch; absent for a detached HEAD. */
  branch: string | undefined;
  /** All names of the repository; none where only a commit is wanted. */
  names: readonly string[];
}

function pathProblem(target: string): string | undefined {
  return target === "/" ? "target: expected a directory below /" : undefined;
}

/** Rejects names that look like an option, and characters with a meaning in a refspec. */
function isRefName(name: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,199}$/.test(name) && !name.includes("..") && !name.includes("@{");
}

async function wantedOf(git: Git, { url, rev, branch }: Wish): Promise<Wanted> {
  if (rev !== undefined && hexadecimal.test(rev)) return { commit: rev, ref: rev, branch, names: [] };
  const output = await git(["ls-remote", "--symref", "--", url]);
  const refs = new Map<string, string>();
  let head: string | undefined;
  for (const line of output.split("\n")) {
    const [left = "", name = ""] = line.split("\t");
    if (left.startsWith("ref: ") && name === "HEAD") head = left.slice("ref: ".length);
    else if (hexadecimal.test(left)) refs.set(name, left);
  }
  const names = rev === undefined ? [head ?? "HEAD", "HEAD"] : [`refs/heads/${rev}`, `refs/tags/${rev}`, rev];
  const ref = names.find((name) => refs.has(name));
  if (ref === undefined) throw new StateFailure(`${shownUrl(url)} has no branch or tag ${rev ?? "HEAD"}`);
  const [, own] = /^refs\/heads\/(.+)$/.exec(ref) ?? [];
  // An annotated tag is a separate object that points to the commit.
  const commit = refs.get(`${ref}^{}`) ?? refs.get(ref) ?? "";
  return { commit, ref, branch: branch ?? own, names: [...refs.keys()] };
}

async function planClone(git: Git, wish: Wish, context: StateContext): Promise<Plan> {
  const { url, target, remote } = wish;
  const wanted = await wantedOf(git, wish);
  return {
    changes: { [target]: { created: true, url: shownUrl(url), revision: wanted.commit } },
    comment: `${shownUrl(url)} would be cloned to ${target}`,
    apply: async () => {
      if (statIfPresent(target) === undefined) {
        const account = wish.user === undefined ? undefined : await findAccount(wish.user, context);
        using parent = openParents(target, true, noAttributes);
        makeDirectoryIn(parent, basename(target), { uid: account?.uid, gid: account?.gid, mode: undefined });
      }
      await git(["init", "--quiet", target]);
      await git(["remote", "add", "--", remote, url], target).catch(() =>
        git(["remote", "set-url", "--", remote, url], target),
      );
      await checkOut(git, wish, wanted, true);
      return { comment: `${shownUrl(url)} was cloned to ${target}` };
    },
  };
}

async function planUpdate(git: Git, wish: Wish): Promise<Plan> {
  const { url, target, remote } = wish;
  const head = await optional(git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], target));
  const named = await currentBranch(git, target);
  const known = await optional(git(["config", "--get", `remote.${remote}.url`], target));
  const wanted = await wantedOf(git, wish);
  const changes: { [name: string]: Plain } = {};
  if (known !== url) changes.url = { old: known === undefined ? null : shownUrl(known), new: shownUrl(url) };
  if (head !== wanted.commit) changes.revision = { old: head ?? null, new: wanted.commit };
  if (wanted.branch !== undefined && named !== wanted.branch) {
    changes.branch = { old: named ?? null, new: wanted.branch };
  }
  const force = wish.force_reset === true;
  const edited = await editedFiles(git, target);
  if (edited.length > 0 && force) changes.thrown_away = edited;
  if (Object.keys(changes).length === 0) {
    return { changes: {}, comment: `${target} is at ${wanted.commit}` };
  }
  if (edited.length > 0 && !force) {
    throw new StateFailure(
      `${target} has local changes (${edited.slice(0, 5).join(", ")}); set force_reset: true to discard them`,
    );
  }
  return {
    changes: { [target]: changes },
    comment: `${target} would be updated to ${wanted.commit}`,
    apply: async () => {
      if (known !== url) await git(["config", `remote.${remote}.url`, url], target);
      await checkOut(git, wish, wanted, force);
      return { comment: `${target} was updated to ${wanted.commit}` };
    },
  };
}

async function checkOut(git: Git, wish: Wish, wanted: Wanted, force: boolean): Promise<void> {
  const { target, remote, depth, submodules } = wish;
  const others = wanted.branch === undefined ? [] : await branchesInTheWay(git, target, wanted.branch);
  const published = await publishedOf(git, target, others);
  await dropStaleNames(git, wish, wanted.names);
  const has = await optional(git(["cat-file", "-e", `${wanted.commit}^{commit}`], target));
  if (has === undefined || wanted.ref !== wanted.commit) {
    const shallow = depth === undefined ? [] : [`--depth=${depth}`];
    const refs = wanted.ref === wanted.commit && depth === undefined ? [] : [wanted.ref];
    await git(["fetch", "--quiet", "--force", "--tags", ...shallow, "--", remote, ...refs], target);
  }
  if (!force) {
    const head = await optional(git(["rev-parse", "--verify", "--quiet", "HEAD"], target));
    const behind = await optional(git(["merge-base", "--is-ancestor", "HEAD", wanted.commit], target));
    // A shallow clone cannot tell; it has no local commits when HEAD is the commit checked out last.
    const left =
      depth === undefined ? undefined : await optional(git(["rev-parse", "--verify", leftAt], target));
    if (head !== undefined && behind === undefined && head !== left) {
      throw new StateFailure(
        `${target} has commits that ${wanted.ref} does not have; set force_reset: true to discard them`,
      );
    }
    for (const each of others) {
      const tip = `refs/heads/${each}`;
      const kept = await optional(git(["merge-base", "--is-ancestor", tip, wanted.commit], target));
      if (kept === undefined && !published.has(each)) refuseLoss(each, wanted.branch ?? "");
    }
  }
  const forced = force ? ["--force"] : [];
  if (others.length > 0) {
    // The branch of HEAD may be one of them.
    await git(["checkout", "--quiet", ...forced, "--detach", wanted.commit], target);
    await dropBranches(git, target, others);
  }
  const place = wanted.branch === undefined ? ["--detach"] : ["-B", wanted.branch];
  await git(["checkout", "--quiet", ...forced, ...place, wanted.commit], target);
  await git(["update-ref", leftAt, wanted.commit], target);
  if (submodules === true) {
    await git(["submodule", "--quiet", "update", "--init", "--recursive", "--force"], target);
  }
}

/** The local branches of these that have no commit of their own: the repository had it, or this state left it there. */
async function publishedOf(git: Git, target: string, branches: readonly string[]): Promise<Set<string>> {
  const left = await optional(git(["rev-parse", "--verify", "--quiet", leftAt], target));
  const published = new Set<string>();
  for (const branch of branches) {
    const tip = `refs/heads/${branch}`;
    const commit = await optional(git(["rev-parse", "--verify", "--quiet", tip], target));
    const holders = await optional(git(["for-each-ref", "--contains", tip, "refs/remotes"], target));
    if ((commit !== undefined && commit === left) || (holders ?? "") !== "") published.add(branch);
  }
  return published;
}

/** Files that differ from the commit, without untracked files. */
async function editedFiles(git: Git, target: string): Promise<string[]> {
  const output = await git(
    ["status", "--porcelain=v1", "--untracked-files=no", "-z", "--ignore-submodules=all"],
    target,
  );
  return output.split("\0").flatMap((entry) => (/^[ A-Z?!]{2} /.test(entry) ? [entry.slice(3)] : []));
}

async function optional(output: Promise<string>): Promise<string | undefined> {
  try {
    return (await output).trim();
  } catch (thrown) {
    if (thrown instanceof StateFailure) return undefined;
    throw thrown;
  }
}
