import type { Rule } from "./rule.ts";
import { canMatch } from "./tag-pattern.ts";

/** Sources that only rules use, with the shape of their tags. */
const tagShapes = {
  returns: ["svc", "job", "*", "return", "*"],
  schedules: ["svc", "schedule", "*", "*"],
  compliance: ["svc", "compliance", "*"],
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
    rules.some(({ match }) => match.some((pattern) => canMatch(pattern, tagShapes[name]))),
  );
  return new Map(needed.map((name) => [name, before.get(name) ?? now]));
}
