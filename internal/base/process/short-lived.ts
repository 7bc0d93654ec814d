import { restartWith } from "./restart-with.ts";

/**
 * Starts this program again in this process with the optimizing compiler off. The compiler pays off only in
 * programs that run for several seconds. Without it a run of a thousand states takes half the processor
 * time, which saves far more than the second start costs.
 *
 * @param argv the arguments without the program's name
 * @returns when the compiler is already off, or cannot be turned off here
 */
export function startShortLived(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  restartWith({ BUN_JSC_useDFGJIT: "0" }, argv, env);
}
