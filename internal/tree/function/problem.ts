import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { atLine } from "../../base/place.ts";
import type { Place } from "./low.ts";

/** One problem in a state tree. */
export interface StateProblem extends Partial<Place> {
  message: string;
  /** The lines around it, after rendering, with setting values hidden. */
  excerpt?: string;
}

/** All problems that were found in one pass. The message contains the first one. */
export class StateErrors extends SvcError {
  readonly problems: readonly StateProblem[];

  constructor(problems: readonly StateProblem[]) {
    const [first] = problems;
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
    super("bad_request", `${first === undefined ? "unknown problem" : headline(first)}${more}`);
    this.problems = problems;
  }
}

/** One line per problem, followed by an excerpt of the text around it. */
export function formatProblems(problems: readonly StateProblem[]): string {
  return problems.map(formatted).join("\n");
}

function formatted(problem: StateProblem): string {
  return problem.excerpt === undefined ? headline(problem) : `${headline(problem)}\n${problem.excerpt}`;
}

function headline({ file, line, message }: StateProblem): string {
  return file === undefined ? message : `${atLine(file, line)}: ${message}`;
}

const maxProblems = 50;
const linesAround = 3;
const maxLineLength = 160;
/** Shorter values are common words; hiding them would make the excerpt unreadable. */
const minHidden = 5;

/** Collects problems, so that one pass over a tree reports all of them. */
export class Problems {
  private readonly found: StateProblem[] = [];
  private readonly texts = new Map<string, string>();
  private readonly settings: Plain;

  /** @param settings values to hide in excerpts, because they may be secrets */
  constructor(settings: Plain) {
    this.settings = settings;
  }

  /** Sets the rendered text that line numbers of this file refer to. */
  setText(file: string, text: string): void {
    this.texts.set(file, text);
  }

  add(message: string, place?: Partial<Place>): void {
    if (this.found.length < maxProblems) this.found.push({ message, ...place });
  }

  /** @throws StateErrors when there are any */
  throwIfAny(): void {
    if (this.found.length > 0) throw this.errors();
  }

  errors(): StateErrors {
    const hidden = textsIn(this.settings).filter((text) => text.length >= minHidden);
    // Longest first, because a value may contain a shorter one.
    hidden.sort((a, b) => b.length - a.length);
    return new StateErrors(this.found.map((problem) => this.withExcerpt(problem, hidden)));
  }

  private withExcerpt(problem: StateProblem, hidden: readonly string[]): StateProblem {
    const text = problem.file === undefined ? undefined : this.texts.get(problem.file);
    if (text === undefined || !problem.line) return problem;
    return { ...problem, excerpt: excerptOf(text, problem.line, hidden) };
  }
}

function excerptOf(text: string, line: number, hidden: readonly string[]): string {
  let shown = text;
  for (const value of hidden) {
    // Keep the number of lines, so that later line numbers stay correct.
    shown = shown.replaceAll(value, `***${"\n".repeat(value.split("\n").length - 1)}`);
  }
  const lines = shown.split("\n");
  const from = Math.max(1, line - linesAround);
  return lines
    .slice(from - 1, line + linesAround)
    .map((content, index) => {
      const number = from + index;
      const mark = number === line ? ">" : " ";
      return `${mark} ${String(number).padStart(5)} | ${content.slice(0, maxLineLength)}`.trimEnd();
    })
    .join("\n");
}

function textsIn(value: Plain): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  return Object.values(value).flatMap(textsIn);
}
