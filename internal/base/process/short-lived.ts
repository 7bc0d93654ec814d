const setting = "BUN_JSC_useDFGJIT";

/**
 * Starts this program again in this process, without the compiler that makes code faster that runs for
 * seconds. A program that runs for a moment only pays for it: a run of a thousand states takes half the
 * processor time without, far more than the second start costs.
 *
 * The runtime reads the setting when a process starts, from its environment alone. What the program itself
 * starts does not get it: functions give their children an environment of their own.
 *
 * @param argv the arguments without the program's name
 * @returns when it was done already, or cannot be done here
 */
export function startShortLived(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  // Only the compiled program is started by its own path; a test runs it from source.
  const isCompiled = Bun.main.startsWith("/$bunfs/");
  if (!isCompiled || env[setting] !== undefined || typeof process.execve !== "function") return;
  try {
    process.execve(process.execPath, [process.execPath, ...argv], {
      ...env,
      [setting]: "0",
    } as NodeJS.ProcessEnv);
  } catch {
    // Then it is slower.
  }
}
