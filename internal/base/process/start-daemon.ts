import { restartWith } from "./restart-with.ts";

/**
 * The allocator returns memory at once. By default it does so a moment later, in a thread of its own that wakes up each
 * time the program does: a fifth of the processor time of an idle master (docs/bench.md).
 */
const settings = { MIMALLOC_PURGE_DELAY: "0" } as const;

/**
 * Starts this program again in this process with the settings of a daemon, which has nothing to do most of the time.
 *
 * @param argv the arguments without the program's name
 * @returns when they are already set, or cannot be set here
 */
export function startDaemon(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  restartWith(settings, argv, env);
}
