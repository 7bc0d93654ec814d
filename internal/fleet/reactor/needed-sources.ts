import { matchGlob } from "../../tree/targets/mod.ts";
import type { Rule } from "./rule.ts";

/** Sources that only rules use, with the shape of their tags. */
const tagShapes = {
  returns: ["svc", "job", "*", "return", "*"],
  schedules: ["svc", "schedule", "*", "*"],
} as const;
export type OptionalSource = keyof typeof tagShapes;
export const optionalSources = Object.keys(tagShapes) as OptionalSource[];

/** The optional sources that some rule can match, each with the time since when. */
export type NeededSources = ReadonlyMap<OptionalSource, number>;

/**
 * Finds the optional sources that rules need.
 *
 * @param before the sources that the previous rules needed: a source that is still needed keeps its time
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

/** Whether a glob matches any tag of this shape, where `*` means one arbitrary segment. */
function canMatch([first, ...others]: readonly string[], shape: readonly string[]): boolean {
  const [segment, ...behind] = shape;
  if (first === undefined) return segment === undefined;
  if (first === "**")
    return canMatch(others, shape) || (segment !== undefined && canMatch([first, ...others], behind));
  if (segment === undefined) return false;
  return (segment === "*" || matchGlob(first, segment)) && canMatch(others, behind);
}
