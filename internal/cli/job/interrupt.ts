import type { Cli } from "../../program/command-line/mod.ts";

/** The reason of a signal that Ctrl-C aborted. */
export class Interrupted extends Error {}

/** The exit code of a program that Ctrl-C ended: 128 and the number of the signal. */
export const interruptedExit = 130;

/**
 * Runs something that Ctrl-C ends early: the first one aborts the signal, and another ends the program at
 * once, as it does without us.
 */
export async function untilInterrupted<T>(
  { signals, stderr }: Pick<Cli, "signals" | "stderr">,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopping = new AbortController();
  const interrupt = () => {
    signals?.off("SIGINT", interrupt);
    // The terminal has just written ^C at the end of whatever line there is.
    if (stderr.isTTY === true) stderr.write("\n");
    stopping.abort(new Interrupted("interrupted"));
  };
  signals?.on("SIGINT", interrupt);
  try {
    return await run(stopping.signal);
  } finally {
    signals?.off("SIGINT", interrupt);
  }
}
