import { linesLeftOut } from "../../base/cut.ts";
import { attempt } from "../../base/errors.ts";

/** Maximum size of content that is compared line by line, in bytes. */
export const maxDiffInput = 1024 * 1024;
const maxDiffCharacters = 64 * 1024;
/** Maximum number of differing lines; the cost grows with the square of this number. */
const maxEdits = 1_500;
const headerOptions = { includeIndex: false, includeUnderline: false, includeFileHeaders: true };

/**
 * Describes the change of a file for people: a unified diff of bounded length, or one sentence where a diff
 * does not help.
 *
 * @param before `undefined` when the file did not exist
 */
export async function describeChange(
  path: string,
  before: Uint8Array | undefined,
  after: Uint8Array,
): Promise<string> {
  const [old, now] = [textOf(before ?? new Uint8Array()), textOf(after)];
  if (old === undefined || now === undefined) return describeSizes(before?.length, after.length);
  if (before === undefined) return bounded(newFile(path, now));
  const { createTwoFilesPatch } = await import("diff");
  const patch = createTwoFilesPatch(path, path, old, now, undefined, undefined, {
    context: 3,
    maxEditLength: maxEdits,
    headerOptions,
  });
  if (patch !== undefined) return bounded(patch);
  return `more than ${maxEdits} lines differ, ${describeSizes(before.length, after.length)}`;
}

/** Like `describeChange`, for content that is too large to compare. */
export function describeSizes(before: number | undefined, after: number | undefined): string {
  const size = after === undefined ? "content that has not been fetched yet" : `${after} bytes`;
  if (before === undefined) return `not shown line by line: ${size}`;
  return `not shown line by line: ${before} bytes before, ${size} after`;
}

/** Every line is new, so no comparison is needed. */
function newFile(path: string, text: string): string {
  if (text === "") return "";
  const lines = text.split("\n");
  const ended = lines.at(-1) === "";
  if (ended) lines.pop();
  const head = `--- /dev/null\n+++ ${path}\n@@ -0,0 +1${lines.length === 1 ? "" : `,${lines.length}`} @@\n`;
  return `${head}+${lines.join("\n+")}\n${ended ? "" : "\\ No newline at end of file\n"}`;
}

function bounded(diff: string): string {
  if (diff.length <= maxDiffCharacters) return diff;
  const end = diff.lastIndexOf("\n", maxDiffCharacters) + 1;
  const left = diff.slice(end).split("\n").length - 1;
  return diff.slice(0, end === 0 ? maxDiffCharacters : end) + linesLeftOut(left);
}

/** The text of bytes that can be shown line by line. */
function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.length > maxDiffInput || bytes.includes(0)) return undefined;
  return attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
}
