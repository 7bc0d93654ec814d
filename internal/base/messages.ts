import { createConsola } from "consola/core";
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
  const consola = createConsola({
    // Consola folds repeated messages by default; progress may well repeat itself.
    throttle: 0,
    reporters: [
      {
        log({ type, args: [line] }) {
          const head = type === "log" ? "" : `${name}: `;
          write(`${escapeInvisibleInLines(redact(`${head}${line}`))}\n`);
        },
      },
    ],
  });
  return {
    say: (line) => consola.log(line),
    warn: (line) => consola.warn(line),
    error: (line) => consola.error(line),
  };
}
