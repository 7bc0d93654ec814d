/**
 * Starts this program again in this process with settings of the runtime. The runtime reads them only from the
 * environment, at process start. What the environment already sets stays as it is. Child processes do not inherit the
 * settings: functions give their children an environment of their own.
 *
 * @param settings variables of the environment
 * @param argv the arguments without the program's name
 * @returns when all of them are already set, or cannot be set here
 */
export function restartWith(
  settings: Readonly<Record<string, string>>,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  // Only the compiled program starts by its own path; tests run it from source.
  const isCompiled = Bun.main.startsWith("/$bunfs/");
  const isSet = Object.keys(settings).every((name) => env[name] !== undefined);
  if (!isCompiled || isSet || typeof process.execve !== "function") return;
  try {
    process.execve(process.execPath, [process.execPath, ...argv], {
      ...settings,
      ...env,
    } as NodeJS.ProcessEnv);
  } catch {
    // The program then runs with what the runtime does by itself.
  }
}
