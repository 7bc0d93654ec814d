/** The time that counts for signatures, in seconds since the Unix epoch. */
export const verifyTimeVariable = "SVC_VERIFY_TIME";

const option = "-Overify-time=";

/**
 * Runs ssh-keygen as git would, with the time of the master in place of the committer's: an expired key would sign for
 * ever with an early date.
 *
 * @returns the exit code
 */
export function runSshStep(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): number {
  const written = env[verifyTimeVariable] ?? "";
  if (!/^\d{1,12}$/.test(written)) return 1;
  const seconds = Number(written);
  const { exitCode } = Bun.spawnSync(["ssh-keygen", ...stepArguments(args, seconds)], {
    env: { ...env },
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  return exitCode;
}

/** The arguments with the time. ssh-keygen reads it in the time zone of this host, as it reads those of the file. */
export function stepArguments(args: readonly string[], seconds: number): string[] {
  return [
    ...args.filter((arg) => !arg.startsWith(option)),
    `${option}${formatted(new Date(seconds * 1000))}`,
  ];
}

function formatted(date: Date): string {
  const parts = [date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
  return `${date.getFullYear()}${parts.map((part) => String(part).padStart(2, "0")).join("")}`;
}
