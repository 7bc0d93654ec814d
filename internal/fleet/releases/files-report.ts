import * as v from "valibot";
import { jsonText } from "../../base/json-text.ts";
import { described, integer, titled } from "../../base/schema.ts";
import { shownSnapshot } from "../../wire/content.ts";

/** Of one answer; more is counted. */
const max = { entries: 200, findings: 20, bytes: 256 * 1024 } as const;

const finding = v.object({
  file: v.string(),
  line: described(integer, "Counted from 1; 1 where it is not known"),
  column: described(integer, "Counted from 1; 1 where it is not known"),
  reason: v.string(),
});
const leftOut = v.exactOptional(described(integer, "How many more there are"));

const refusedFiles = titled(
  "RefusedFiles",
  v.object({
    environment: v.exactOptional(described(v.string(), "Absent when a whole repository cannot be read")),
    remote: v.exactOptional(
      described(v.string(), "URL of the repository, without user and password, when its content is refused"),
    ),
    ref: v.exactOptional(described(v.string(), "Such as `refs/heads/main`")),
    commit: v.exactOptional(described(v.string(), "`local` where no single commit describes the files")),
    snapshot: v.exactOptional(shownSnapshot),
    reason: described(v.string(), "Why, in one line"),
    yields: v.exactOptional(
      described(v.boolean(), "They come into force anyway when an operator releases them"),
    ),
    problems: v.exactOptional(described(v.array(finding), `The first ${max.findings} problems in the files`)),
    problems_left_out: leftOut,
  }),
);

const filesHints = titled(
  "FilesHints",
  v.object({
    environment: v.string(),
    commit: v.string(),
    snapshot: shownSnapshot,
    hints: described(v.array(finding), `The first ${max.findings} hints of \`states.check: compile\``),
    hints_left_out: leftOut,
  }),
);

/** What the master that publishes state files says of those that do not come into force, and of those to look at. */
export const filesReport = v.object({
  refused: v.array(refusedFiles),
  refused_left_out: leftOut,
  hints: v.array(filesHints),
});

export type FilesReport = v.InferOutput<typeof filesReport>;
type Finding = v.InferOutput<typeof finding>;

/** What a person is shown first. @param name of the field */
export function firstFindings<Name extends "problems" | "hints">(name: Name, all: readonly Finding[]) {
  const shown = all.slice(0, max.findings).map((one) => ({ ...one }));
  const more = all.length - shown.length;
  return {
    [name]: shown,
    ...(more === 0 ? {} : { [`${name}_left_out`]: more }),
  } as Record<Name, Finding[]> & { [Left in `${Name}_left_out`]?: number };
}

/** A report that fits into one message: who may push chooses how much is refused. */
export function boundReport(refused: FilesReport["refused"], hints: FilesReport["hints"]): FilesReport {
  let bytes = 0;
  const fits = (one: unknown, at: number) => {
    bytes += jsonText(one).length;
    return at < max.entries && bytes <= max.bytes;
  };
  const shown = refused.filter(fits);
  const more = refused.length - shown.length;
  return {
    refused: shown,
    ...(more === 0 ? {} : { refused_left_out: more }),
    hints: hints.filter(fits),
  };
}
