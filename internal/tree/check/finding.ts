import { beginningOf } from "../../base/cut.ts";
import { atColumn } from "../../base/place.ts";
import { withoutWords } from "./worlds.ts";

/** What is wrong with a file, or may be. */
export interface Finding {
  file: string;
  /** Both counted from 1; 1 where they are not known. */
  line: number;
  column: number;
  /** It holds no text of a setting. */
  reason: string;
}

/** What a check found. */
export interface Checked {
  /** Number of files. */
  checked: number;
  /** What keeps the files from coming into force, in the order of files and lines. */
  problems: readonly Finding[];
  /** What a person should look at. */
  hints: readonly Finding[];
}

/** More are counted by nobody: a file of another format alone may have hundreds. */
const maxFindings = 100;
const maxReason = 300;

/** One line: `web/init.sls:3:1: …`. */
export const headlineOf = ({ file, line, column, reason }: Finding): string =>
  `${atColumn(file, { line, column })}: ${reason}`;

/** The first finding, and how many more there are. @param command that shows them all */
export function summaryOf(findings: readonly Finding[], command: string): string {
  const [first] = findings;
  if (first === undefined) return "";
  const more = findings.length - 1;
  return `${headlineOf(first)}${more === 0 ? "" : ` (and ${more} more: check with ${command})`}`;
}

/** The findings in the order of files and lines, each once. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const byPlace = new Map<string, Finding>();
  for (const { file, line, column, reason } of findings) {
    const each = { file, line, column, reason: short(reason) };
    const key = headlineOf(each);
    if (!byPlace.has(key)) byPlace.set(key, each);
  }
  const sorted = [...byPlace.values()].sort(
    (a, b) => compare(a.file, b.file) || a.line - b.line || a.column - b.column,
  );
  return sorted.slice(0, maxFindings);
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));

function short(reason: string): string {
  const [line = ""] = withoutWords(reason).split("\n");
  return beginningOf(line, maxReason);
}
