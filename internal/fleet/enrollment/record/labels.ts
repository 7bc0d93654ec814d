import * as v from "valibot";
import { described } from "../../../base/schema.ts";

/** What the fleet says of a peel, by name. A peel never sets them. */
export type Labels = Readonly<Record<string, string>>;

const maxLabels = 32;
const maxValue = 253;
const namePattern = /^[a-z][a-z0-9_.-]{0,62}$/;

/** Whether a text can be the name of a label. */
export const isLabelName = (name: string): boolean => namePattern.test(name);

/** The labels of a peel, as requests and records have them. */
export const labelsField = described(
  v.pipe(
    v.record(
      v.pipe(
        v.string(),
        v.check(isLabelName, "must be named by a lower-case letter and up to 62 of a-z, 0-9, _, . and -"),
      ),
      v.pipe(
        v.string(),
        v.maxLength(maxValue, `must have at most ${maxValue} characters`),
        v.check((value) => !/\p{Cc}|\p{Cs}/u.test(value), "must have no control characters"),
      ),
    ),
    v.check((labels) => Object.keys(labels).length <= maxLabels, `must be at most ${maxLabels} labels`),
  ),
  `Labels by name: at most ${maxLabels}, values of up to ${maxValue} characters`,
);

/** What is wrong with labels, as the end of a sentence; `undefined` for what a peel may have. */
export function labelsProblem(labels: unknown): string | undefined {
  const read = v.safeParse(labelsField, labels);
  return read.success ? undefined : read.issues[0].message;
}

/** Whether two peels have the same labels; none is the empty set. */
export function isSameSet(one: Labels = {}, other: Labels = {}): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
