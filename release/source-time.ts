/**
 * The timestamp of all build outputs, in seconds since 1970: `SOURCE_DATE_EPOCH`, or the time of the last
 * commit, so that the same source gives the same bytes (reproducible-builds.org).
 *
 * @throws Error when there is neither
 */
export function sourceTime(env: Readonly<Record<string, string | undefined>>): number {
  const given = env.SOURCE_DATE_EPOCH ?? lastCommit();
  if (!/^[0-9]{1,11}$/.test(given)) {
    throw new Error(`SOURCE_DATE_EPOCH is ${JSON.stringify(given)}, wanted seconds since 1970`);
  }
  return Number(given);
}

function lastCommit(): string {
  const shown = Bun.spawnSync(["git", "log", "-1", "--format=%ct"], { cwd: import.meta.dir });
  return shown.success ? shown.stdout.toString().trim() : "";
}
