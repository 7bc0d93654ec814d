import * as v from "valibot";
import { parseDuration } from "../../base/duration.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { described } from "../../base/schema.ts";
import { openSetIn } from "../../tree/targets/mod.ts";
import { patternProblem, sourcePattern } from "../reactor/rules/mod.ts";
import type { EventFeed } from "./feed.ts";
import { type Position, parsePosition, positionPattern } from "./position.ts";

const maxGlob = 256;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

const tagGlob = v.pipe(
  v.string(),
  v.maxLength(maxGlob),
  v.rawCheck(({ dataset, addIssue }) => {
    const problem = dataset.typed ? (patternProblem(dataset.value) ?? setProblem(dataset.value)) : undefined;
    if (problem !== undefined) addIssue({ message: `must be a glob on tags such as disk/** : ${problem}` });
  }),
);
const sourceGlob = v.pipe(
  v.string(),
  v.maxLength(maxGlob),
  v.regex(sourcePattern, "must be a peel id, or a glob on peel ids such as web*"),
  v.rawCheck(({ dataset, addIssue }) => {
    const problem = dataset.typed ? setProblem(dataset.value) : undefined;
    if (problem !== undefined) {
      addIssue({ message: `must be a peel id, or a glob on peel ids such as web* : ${problem}` });
    }
  }),
);

/** The fields that choose events, and where the reading begins. */
export const choice = {
  tag: v.optional(described(tagGlob, "Only events whose tag matches this glob, such as `svc/job/**`")),
  source: v.optional(described(sourceGlob, "Only events of this peel, or of those that this glob matches")),
  since: v.optional(
    described(
      v.pipe(
        v.string(),
        v.check(
          (text) => ago(text) !== undefined || isTime(text),
          "must be a duration ago such as 10m, or a time such as 2026-01-31T09:00:00Z",
        ),
      ),
      "Begin with what the bus stored then: a duration ago such as `10m`, or a time",
    ),
  ),
  after: v.optional(
    described(
      v.pipe(v.string(), v.regex(new RegExp(positionPattern), "must be the position of an event")),
      "Begin after this position; takes precedence over `since`",
    ),
  ),
};

/** Checks a glob on tags before a master is asked. @throws SvcError `bad_request` with what it must be */
export const checkTag = (text: string): string => checked(tagGlob, text);

/** The same for a glob on peel ids. */
export const checkSource = (text: string): string => checked(sourceGlob, text);

function checked(schema: typeof tagGlob | typeof sourceGlob, text: string): string {
  const read = v.safeParse(schema, text);
  if (read.success) return read.output;
  throw new SvcError("bad_request", read.issues[0].message);
}

/** A set that is never closed is a typing mistake: it would match nothing, without a message. */
function setProblem(pattern: string): string | undefined {
  let start = 0;
  for (const segment of pattern.split("/")) {
    const at = openSetIn(segment);
    if (at !== undefined) return `column ${start + at + 1}: expected a ] for this [`;
    start += segment.length + 1;
  }
  return undefined;
}

/**
 * Where a reading begins.
 *
 * @param now milliseconds since the Unix epoch
 * @param otherwise gives the beginning when neither `after` nor `since` is there
 * @throws SvcError `storage`
 */
export async function beginningOf(
  feed: Pick<EventFeed, "before">,
  { after, since }: { after?: string | undefined; since?: string | undefined },
  now: number,
  otherwise: () => Promise<Position>,
): Promise<Position> {
  if (after !== undefined) return parsePosition(after);
  if (since === undefined) return otherwise();
  const at = isTime(since) ? Date.parse(since) : now - (ago(since) ?? 0);
  return feed.before(Math.max(0, at));
}

const isTime = (text: string): boolean => time.test(text) && !Number.isNaN(Date.parse(text));

/** Milliseconds of a duration; `undefined` for another text. */
function ago(text: string): number | undefined {
  return attempt(() => parseDuration(text));
}
