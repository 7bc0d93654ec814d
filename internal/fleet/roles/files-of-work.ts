import { attempt } from "../../base/errors.ts";
import { functionNamed } from "../../host/modules/mod.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import type { JobRule } from "./role.ts";

/** The state files that a job or rollout runs. */
export interface FilesOfWork {
  environment: string;
  /** It names a commit, and the environment has a newer one. */
  isOlder: boolean;
}

/** Whether a function uses state files. One of another version may. */
export function usesFiles(name: string): boolean {
  return attempt(() => functionNamed(name).files !== undefined, true);
}

/** Whether a rule allows these files. */
export function allowsFiles(
  { environments, commits }: JobRule,
  { environment, isOlder }: FilesOfWork,
): boolean {
  return (!isOlder || commits === "any") && environments.some((glob) => matchGlob(glob, environment));
}

/**
 * Why no rule allows these files, with the two lines of the file that would allow them.
 *
 * @param rules for this function, none of which allows the files
 */
export function whyNotFiles(name: string, rules: readonly JobRule[], files: FilesOfWork): string {
  const { environment } = files;
  const allowed = rules.find((rule) => allowsFiles(rule, { environment, isOlder: false }));
  const what =
    allowed === undefined
      ? `the environment ${shown(environment)}`
      : `a commit of ${shown(environment)} other than the newest`;
  return `no rule for ${name} allows ${what}${linesFor(allowed ?? rules[0], files)}`;
}

/** What to write into a rule of the roles file so that it allows these files. */
export function linesFor(rule: JobRule | undefined, { environment, isOlder }: FilesOfWork): string {
  if (rule === undefined) return "";
  const isNamed = rule.environments.some((glob) => matchGlob(glob, environment));
  const globs = [...rule.environments, ...(isNamed ? [] : [environment])].map(shown);
  const commits = isOlder ? "any" : rule.commits;
  return `; "environments: [${globs.join(", ")}]" and "commits: ${commits}" in the rule of ${rule.rule}, would allow it`;
}

const maxShown = 100;

/** A name or glob as it is written in a list in YAML. */
function shown(text: string): string {
  const short = text.slice(0, maxShown);
  return /^[a-z][\w./*-]*$/i.test(short) ? short : `'${short.replaceAll("'", "''")}'`;
}
