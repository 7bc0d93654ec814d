const setting = "BUN_JSC_useDFGJIT";

/**
 * Starts this program again in this process with the JIT compiler off. The compiler pays off only in
 * programs that run for several seconds. Without it a run of a thousand states takes half the processor
 * time, which saves far more than the second start costs.
 *
 * The runtime reads this setting only from the environment, at process start. Child processes do not
 * inherit it: functions give their children an environment of their own.
 *
 * @param argv the arguments without the program's name
 * @returns when the compiler is already off, or cannot be turned off here
 */
export function startShortLived(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  // Only the compiled program starts by its own path; tests run it from source.
  const isCompiled = Bun.main.startsWith("/$bunfs/");
  if (!isCompiled || env[setting] !== undefined || typeof process.execve !== "function") return;
  try {
    process.execve(process.execPath, [process.execPath, ...argv], {
      ...env,
      [setting]: "0",
    } as NodeJS.ProcessEnv);
  } catch {
    // The program then runs with the compiler, which is slower.
  }
}
