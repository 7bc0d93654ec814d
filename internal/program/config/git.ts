import * as v from "valibot";
import { quote } from "../../base/cut.ts";
import { fields, formOf, refuse } from "../../base/document/schemas.ts";
import { kindOf, type Written } from "../../base/document/written.ts";
import { listOf } from "./list.ts";
import type { OptionType } from "./option.ts";
import { checked, type ProblemOf, quoted, requiredPath, text } from "./scalar.ts";

/** A repository of state files. What is absent is as for all repositories. */
export interface GitRemote {
  readonly url: string;
  /** The branch that is `base`. */
  readonly base?: string;
  /** Patterns of the names of other branches that are environments. */
  readonly environments?: readonly string[];
  /** Patterns of the names of tags that are environments. */
  readonly tags?: readonly string[];
  /** A file of allowed signers, as OpenSSH reads it; absent means that commits need no signature. */
  readonly signers?: string;
}

const urlProblem: ProblemOf = (url) => {
  if (url.trim() === "") return "expected the URL of a repository, not an empty string";
  // Git would parse it as an option.
  if (url.startsWith("-")) return "a Git URL may not start with a hyphen";
  // They would be visible in the process list.
  return /:\/\/[^/]*:[^/@]*@/.test(url) || /^https?:\/\/[^/]*@/i.test(url)
    ? "a Git URL may not hold credentials; use SSH with gitfs.ssh_key"
    : undefined;
};

const branchForm = /^[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}$/;

const branchProblem: ProblemOf = (name) => {
  if (name.startsWith("refs/")) return "expected the name of a branch, without refs/heads/";
  return branchForm.test(name) && !/\.\.|\/\/|\/$|\.lock$/.test(name)
    ? undefined
    : `${quote(name, 60)} is not the name of a branch: letters, digits, dots, hyphens, slashes, plus signs and underscores`;
};

/** A set without its end would match only itself, which nobody means. */
const globProblem: ProblemOf = (glob) => {
  if (glob.startsWith("refs/"))
    return "expected the name of a branch or tag, without refs/heads/ or refs/tags/";
  return /\[[^\]]*$/.test(glob) ? `${quote(glob, 60)} has a [ that nothing closes` : undefined;
};

/** The name of a branch. */
export const gitBranch = text({ name: "branch", placeholder: "<branch>", schema: checked(branchProblem) });

/** Patterns of the names of branches or tags. */
export const gitGlobs = listOf({ name: "patterns", placeholder: "<glob>", item: globProblem });

const plain = v.pipe(
  checked(urlProblem),
  v.transform((url): GitRemote => ({ url })),
);
const detailed = fields(
  {
    url: checked(urlProblem),
    base: v.exactOptional(gitBranch.schema),
    environments: v.exactOptional(gitGlobs.schema),
    tags: v.exactOptional(gitGlobs.schema),
    signers: v.exactOptional(requiredPath.schema),
  },
  { missing: () => "url is missing: the repository to read" },
);

const urls = listOf({ name: "Git URLs", placeholder: "<url>", item: urlProblem });

/** The list under `gitfs.remotes`. Its flag takes URLs. */
export const gitRemotes: OptionType<readonly GitRemote[]> = {
  name: "list of Git URLs and of {url, base, environments, tags, signers}",
  placeholder: urls.placeholder,
  schema: v.pipe(
    v.array(
      formOf([plain, detailed], (written) => (written instanceof Map ? detailed : plain)),
      ({ input }) => `expected a list of Git URLs, found ${kindOf(input)}`,
    ),
    refuse((remotes) => {
      const all = remotes.map(({ url }) => url);
      const twice = all.find((url, at) => all.indexOf(url) < at);
      return twice === undefined ? undefined : `${twice} appears twice`;
    }),
  ),
  fromFlag: (texts): Written => urls.fromFlag?.(texts) ?? [],
  format: (remotes) =>
    `[${remotes.map((remote) => (Object.keys(remote).length === 1 ? quoted(remote.url) : JSON.stringify(remote))).join(", ")}]`,
};
