import { SvcError } from "../../base/errors.ts";
import type { Cli } from "../../program/command-line/mod.ts";

/** Ctrl-C stops the work, as the timeout of a job does. */
export async function untilStopped<T>(cli: Cli, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const onSignal = () => stopping.abort(new SvcError("unavailable", "stopped"));
  cli.signals?.on("SIGINT", onSignal);
  try {
    return await run(stopping.signal);
  } finally {
    cli.signals?.off("SIGINT", onSignal);
  }
}
