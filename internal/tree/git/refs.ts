import { beginningOf } from "../../base/cut.ts";
import { isEnvironmentName } from "../../base/names/names.ts";
import { matchGlob } from "../targets/mod.ts";

/** A branch or tag and its object. */
export interface Ref {
  /** `refs/heads/main` */
  name: string;
  /** Id of the commit, or of the tag object of an annotated tag. */
  object: string;
}

/** Which refs of a repository are environments. */
export interface RefChoice {
  /** The branch that is `base`. */
  base: string;
  /** Patterns of the names of other branches. */
  environments: readonly string[];
  /** Patterns of the names of tags. */
  tags: readonly string[];
}

/** A ref that is an environment. */
export interface ChosenRef extends Ref {
  environment: string;
}

const heads = "refs/heads/";
const tags = "refs/tags/";

/** Parses branches and tags from the output of `git ls-remote`. */
export function parseRefs(text: string): Ref[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([0-9a-f]{40,64})\t(refs\/(?:heads|tags)\/\S+)$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined || match[2].endsWith("^{}")) return [];
    return [{ object: match[1], name: match[2] }];
  });
}

/**
 * Chooses the refs that are environments: the configured branch is `base`, and others that a pattern names keep their
 * name. No ref becomes `base` by its own name, because anyone who may push any branch would own the fleet.
 *
 * @param warnings receives a line for each ref that a pattern names and that cannot be an environment
 * @returns `base` first, then by name
 */
export function chooseRefs(refs: readonly Ref[], choice: RefChoice, warnings: string[]): ChosenRef[] {
  const base = baseRefOf(choice);
  const chosen = new Map<string, ChosenRef>();
  const found = refs.find(({ name }) => name === base);
  if (found !== undefined) chosen.set("base", { ...found, environment: "base" });
  // Branches come before tags.
  for (const ref of refs.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const environment = nameOf(ref.name);
    if (ref === found || !isNamed(ref.name, choice)) continue;
    if (environment === "base")
      warnings.push(`${ref.name}: only the branch of gitfs.base is the environment base`);
    else if (!isEnvironmentName(environment)) warnings.push(`${ref.name}: not a valid environment name`);
    else if (environment === choice.base) warnings.push(`${ref.name}: ${base} is the environment base`);
    else if (chosen.has(environment)) {
      warnings.push(
        `${ref.name}: ${chosen.get(environment)?.name} is already the environment ${environment}`,
      );
    } else chosen.set(environment, { ...ref, environment });
  }
  return [...chosen.values()];
}

/** The ref that is `base`. */
export function baseRefOf({ base }: Pick<RefChoice, "base">): string {
  return `${heads}${base}`;
}

export function isTag(ref: string): boolean {
  return ref.startsWith(tags);
}

/** The branches of a repository in one line. */
export function branchesIn(refs: readonly Ref[]): string {
  const names = refs.flatMap(({ name }) => (name.startsWith(heads) ? [nameOf(name)] : []));
  const shown = names.slice(0, 5).map((name) => beginningOf(name, 60));
  const more = names.length - shown.length;
  if (shown.length === 0) return "it has no branches";
  return `its branches are ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function isNamed(ref: string, choice: RefChoice): boolean {
  const globs = isTag(ref) ? choice.tags : choice.environments;
  return globs.some((glob) => matchGlob(glob, nameOf(ref)));
}

function nameOf(ref: string): string {
  return ref.slice((isTag(ref) ? tags : heads).length);
}
