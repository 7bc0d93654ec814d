import type { System } from "../system.ts";
import type { PackageManager } from "./manager.ts";

const staleAfterMs = 3_600_000;

/**
 * Refreshes the package lists when they are more than an hour old or older than the package sources, or always or
 * never according to `refresh`.
 * Does not change installed packages.
 */
export async function refreshIfDue(
  system: System,
  packages: PackageManager,
  refresh: boolean | undefined,
): Promise<void> {
  const at = packages.refreshedAt();
  const isStale = (time: number) =>
    system.now() - time > staleAfterMs || (packages.sourcesChangedAt?.() ?? 0) > time;
  const due = at !== undefined && isStale(at);
  if (refresh ?? due) await packages.refresh();
}
