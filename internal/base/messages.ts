import { escapeInvisibleInLines } from "./invisible.ts";
import { redact } from "./log.ts";

/** What a program tells the person at its terminal, apart from results: one line each, on standard error. */
export interface Messages {
  /** News, as it is. */
  say(line: string): void;
  /** What the person should know or do; it begins with the name of the program. */
  warn(line: string): void;
  /** Why the program failed; it begins with the name of the program. */
  error(line: string): void;
}

/**
 * Creates the one place where messages for people are put into words, and where what looks like a secret is
 * masked.
 *
 * @param name name of the program
 * @param write takes one message with its line end
 */
export function createMessages({ name, write }: { name: string; write: (text: string) => void }): Messages {
  const tell = (line: string) => write(`${escapeInvisibleInLines(redact(line))}\n`);
  return {
    say: tell,
    warn: (line) => tell(`${name}: ${line}`),
    error: (line) => tell(`${name}: ${line}`),
  };
}
