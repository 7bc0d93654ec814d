import { restartWith } from "./restart-with.ts";

const gibibyte = 1024 ** 3;
/** With more than this, the runtime may be generous: it is with 16 GiB, and is not with 8. */
const plentyBytes = 8 * gibibyte;

/**
 * What the runtime reads of the environment of a daemon, which has nothing to do most of the time.
 *
 * @param memoryBytes the memory of this host, or of what limits this process
 */
export function daemonSettings(memoryBytes: number): Record<string, string> {
  return {
    // The allocator returns memory at once. By default it does so a moment later, in a thread of its own that wakes up
    // each time the program does: a fifth of the processor time of an idle master (docs/bench.md).
    MIMALLOC_PURGE_DELAY: "0",
    // On a host with much memory, the runtime collects only when the heap is four times as large as what is in use; else
    // when it is twice as large. Costly requests would then fill a master with garbage.
    ...(memoryBytes > plentyBytes ? { BUN_JSC_forceRAMSize: `${plentyBytes}` } : {}),
  };
}

/**
 * Starts this program again in this process with the settings of a daemon.
 *
 * @param argv the arguments without the program's name
 * @returns when they are already set, or cannot be set here
 */
export function startDaemon(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  restartWith(daemonSettings(process.constrainedMemory()), argv, env);
}
