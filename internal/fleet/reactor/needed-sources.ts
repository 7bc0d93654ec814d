import { matchGlob } from "../../tree/targets/glob.ts";
import type { Rule } from "./rule.ts";

/** Sources that say nothing to anybody but rules, and what the tags of their events look like. */
const tagShapes = {
  returns: ["svc", "job", "*", "return", "*"],
  schedules: ["svc", "schedule", "*", "*"],
} as const;
export type OptionalSource = keyof typeof tagShapes;
export const optionalSources = Object.keys(tagShapes) as OptionalSource[];

/** The optional sources that some rule can match, each with the moment since when one can. */
export type NeededSources = ReadonlyMap<OptionalSource, number>;

/**
 * Which of the sources rules need.
 *
 * @param before what the rules before these needed: a source that goes on being needed keeps its moment
 * @param now milliseconds since the Unix epoch
 */
export function neededSources(
  rules: readonly Pick<Rule, "match">[],
  before: NeededSources,
  now: number,
): NeededSources {
  const needed = optionalSources.filter((name) =>
    rules.some(({ match }) => match.some((pattern) => canMatch(pattern.split("/"), tagShapes[name]))),
  );
  return new Map(needed.map((name) => [name, before.get(name) ?? now]));
}

/** Whether a glob matches any tag of this shape, in which `*` stands for one segment of any text. */
function canMatch([first, ...others]: readonly string[], shape: readonly string[]): boolean {
  const [segment, ...behind] = shape;
  if (first === undefined) return segment === undefined;
  if (first === "**")
    return canMatch(others, shape) || (segment !== undefined && canMatch([first, ...others], behind));
  if (segment === undefined) return false;
  return (segment === "*" || matchGlob(first, segment)) && canMatch(others, behind);
}
