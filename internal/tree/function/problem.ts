import { beginningOf } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { atLine } from "../../base/place.ts";
import type { Place } from "./low.ts";
import { nextStep } from "./next-step.ts";

/** One problem in a state tree. */
export interface StateProblem extends Partial<Place> {
  message: string;
  /** In a template, counted from 1. */
  column?: number;
  /** The lines around it, after rendering, with setting values hidden. */
  excerpt?: string;
}

/** All problems that were found in one pass. The message contains the first one. */
export class StateErrors extends SvcError {
  readonly problems: readonly StateProblem[];
  /** What was found in addition, and does not keep states from running. */
  readonly warnings: readonly StateProblem[];

  constructor(problems: readonly StateProblem[], warnings: readonly StateProblem[] = []) {
    const [first] = problems;
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
    super("bad_request", `${first === undefined ? "unknown problem" : headline(first)}${more}`);
    this.problems = problems;
    this.warnings = warnings;
  }
}

/** One line per problem, followed by an excerpt of the text around it, and by what to do where that is known. */
export function formatProblems(problems: readonly StateProblem[]): string {
  const reported = new Set<string>();
  return problems
    .flatMap((problem) => {
      const step = nextStep(problem.message);
      const isNew = step !== undefined && !reported.has(step);
      if (isNew) reported.add(step);
      const { excerpt } = problem;
      return [
        headline(problem),
        ...(excerpt === undefined ? [] : [excerpt]),
        ...(isNew ? [`  next: ${step}`] : []),
      ];
    })
    .join("\n");
}

/** One line: `web/init.sls:3: …`, with the column of a template where it is known. */
export function headline({ file, line, column, message }: StateProblem): string {
  return file === undefined ? message : `${atLine(file, line, column)}: ${message}`;
}

const maxProblems = 50;
const linesAround = 3;
const maxLineLength = 160;
/** Shorter values are common words; hiding them would make the excerpt unreadable. */
const minHidden = 5;

/** Collects problems, so that one pass over a tree reports all of them. */
export class Problems {
  private readonly found: StateProblem[] = [];
  private readonly warned: StateProblem[] = [];
  private readonly texts = new Map<string, { text: string; source: ReadonlySet<string> }>();
  private readonly settings: Plain;

  /** @param settings values to hide in excerpts, because they may be secrets */
  constructor(settings: Plain) {
    this.settings = settings;
  }

  /**
   * Sets the rendered text that line numbers of this file refer to.
   *
   * @param source the text before rendering; its lines hold no setting, whatever their words are
   */
  setText(file: string, text: string, source: string): void {
    this.texts.set(file, { text, source: new Set(source.split("\n")) });
  }

  add(message: string, place?: Partial<Place> & { column?: number }): void {
    if (this.found.length < maxProblems) this.found.push({ message, ...place });
  }

  /** Adds what does not keep states from running. */
  warn(message: string, place: Place): void {
    if (this.warned.length < maxProblems) this.warned.push({ message, ...place });
  }

  get all(): readonly StateProblem[] {
    return this.found;
  }

  get warnings(): readonly StateProblem[] {
    return this.warned;
  }

  /** @throws StateErrors when there are any */
  throwIfAny(): void {
    if (this.found.length > 0) throw this.errors();
  }

  errors(): StateErrors {
    const hidden = textsIn(this.settings).filter((text) => text.length >= minHidden);
    // Longest first, because a value may contain a shorter one.
    hidden.sort((a, b) => b.length - a.length);
    return new StateErrors(
      this.found.map((problem) => this.withExcerpt(problem, hidden)),
      this.warned,
    );
  }

  private withExcerpt(problem: StateProblem, hidden: readonly string[]): StateProblem {
    const found = problem.file === undefined ? undefined : this.texts.get(problem.file);
    if (found === undefined || !problem.line) return problem;
    const excerpt = excerptOf(found.text, found.source, problem.line, hidden);
    return { ...problem, excerpt: pointed(excerpt, problem.column) };
  }
}

const marked = /^> +\d+ \| /;

/** Points at a column of the marked line, which is as it was written. */
function pointed(excerpt: string, column: number | undefined): string {
  if (column === undefined) return excerpt;
  return excerpt
    .split("\n")
    .flatMap((line) => {
      const prefix = marked.exec(line)?.[0].length;
      const isShown = prefix !== undefined && column > 0 && prefix + column <= line.length;
      return isShown ? [line, `${" ".repeat(prefix - 2)}| ${" ".repeat(column - 1)}^`] : [line];
    })
    .join("\n");
}

function excerptOf(
  text: string,
  source: ReadonlySet<string>,
  line: number,
  hidden: readonly string[],
): string {
  let shown = text;
  for (const value of hidden) {
    // Keep the number of lines, so that later line numbers stay correct.
    shown = shown.replaceAll(value, `***${"\n".repeat(value.split("\n").length - 1)}`);
  }
  // A line as it is in the source has ordinary words that equal a setting, not settings.
  const written = text.split("\n");
  const lines = shown.split("\n").map((each, at) => {
    const original = written[at] ?? "";
    return source.has(original) ? original : each;
  });
  const from = Math.max(1, line - linesAround);
  return lines
    .slice(from - 1, line + linesAround)
    .map((content, index) => {
      const number = from + index;
      const mark = number === line ? ">" : " ";
      return `${mark} ${String(number).padStart(5)} | ${beginningOf(content, maxLineLength)}`.trimEnd();
    })
    .join("\n");
}

function textsIn(value: Plain): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  return Object.values(value).flatMap(textsIn);
}
