import type { SecretValue } from "../settings/mod.ts";
import { minLength } from "./encodings.ts";
import type { Masked } from "./mask.ts";

/** The shortest line of a value of several lines that is masked. */
const minLine = 12;
const border = /^-----(?:BEGIN|END) [^-]*-----$/;

export interface Classified extends Masked {
  /** The names of the settings whose values are masked only where they are a whole text. */
  readonly weakNames: readonly string[];
}

/** What else is known of values. */
export interface Known {
  /** Whether it is the name of something that this host shows anyway: a fact, a package, a service, a user. */
  isName(text: string): boolean;
  /** Whether it is a line of a state file that this host holds, and so no secret. */
  isInTree(line: string): boolean;
}

/** How each secret value is masked. */
export function classify(values: readonly SecretValue[], { isName, isInTree }: Known): Classified {
  const strong = new Set<string>();
  const weak = new Set<string>();
  const weakNames = new Set<string>();
  for (const { name, text } of values) {
    const lines = linesOf(text);
    if (lines.length > 1) {
      for (const line of lines) if (isSecretLine(line) && !isInTree(line)) strong.add(line);
      continue;
    }
    const [whole = ""] = lines;
    if (whole === "") continue;
    if (whole.length >= minLength && !isName(whole)) {
      strong.add(whole);
      continue;
    }
    weak.add(whole);
    weakNames.add(name);
  }
  return { strong: [...strong], weak: [...weak], weakNames: [...weakNames].sort() };
}

/** The lines of values of several lines that are secret unless a state file has them. */
export function longLinesOf(values: readonly SecretValue[]): string[] {
  return values.flatMap(({ text }) => {
    const lines = linesOf(text);
    return lines.length > 1 ? lines.filter(isSecretLine) : [];
  });
}

/** The lines of a text without the space around them. */
const linesOf = (text: string): string[] =>
  text
    .trim()
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim());

const isSecretLine = (line: string) => line.length >= minLine && !border.test(line);
