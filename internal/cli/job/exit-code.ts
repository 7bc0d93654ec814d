import type { Counts } from "./counts.ts";

/** Every target that answered is ok, and others may still get the job. */
const pendingExit = 3;

/**
 * The exit code for what the targets of a job answered.
 *
 * @param options.ignoreOffline targets that are not connected are left out: pending ones, and those that were at the deadline
 */
export function exitCodeOf(
  counts: Counts,
  { ignoreOffline = false }: { ignoreOffline?: boolean } = {},
): number {
  const { ok: _, pending = 0, offline = 0, ...failed } = counts;
  const isBad = Object.values(failed).some((count) => count > 0) || (offline > 0 && !ignoreOffline);
  if (isBad) return 1;
  return pending > 0 && !ignoreOffline ? pendingExit : 0;
}
