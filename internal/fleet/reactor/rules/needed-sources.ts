import { enrollmentTag } from "../events/mod.ts";
import type { Rule } from "./rule.ts";
import { canMatch } from "./tag-pattern.ts";

/** The sources of events, and whether a glob of a rule can match one of their tags. */
const canMatchOf = {
  returns: (pattern: string) => canMatch(pattern, ["svc", "job", "*", "return", "*"]),
  schedules: (pattern: string) => canMatch(pattern, ["svc", "schedule", "*", "*"]),
  compliance: (pattern: string) => canMatch(pattern, ["svc", "compliance", "*"]),
  enrollments: (pattern: string) => canMatch(pattern, enrollmentTag.split("/")),
  // Any tag. Many fleets have rules for new enrollments alone, which have a source of their own.
  events: (pattern: string) => pattern !== enrollmentTag,
} as const;
export type SourceName = keyof typeof canMatchOf;
export const sourceNames = Object.keys(canMatchOf) as SourceName[];

/** The sources that some rule can match, each with the time since when. */
export type NeededSources = ReadonlyMap<SourceName, number>;

/**
 * Finds the sources that rules need.
 *
 * @param before the sources that the previous rules needed: a source that is still needed keeps its time
 * @param now milliseconds since the Unix epoch
 */
export function neededSources(
  rules: readonly Pick<Rule, "match">[],
  before: NeededSources,
  now: number,
): NeededSources {
  const needed = sourceNames.filter((name) =>
    rules.some(({ match }) => match.some((pattern) => canMatchOf[name](pattern))),
  );
  return new Map(needed.map((name) => [name, before.get(name) ?? now]));
}
