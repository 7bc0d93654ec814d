import type { System } from "../system.ts";
import type { PackageManager } from "./manager.ts";

const staleAfterMs = 3_600_000;

/**
 * Looks at the sources of packages again when what is known of them is more than an hour old, or always or
 * never as `refresh` says. It makes no difference to what is installed.
 */
export async function refreshIfDue(
  system: System,
  packages: PackageManager,
  refresh: boolean | undefined,
): Promise<void> {
  const at = packages.refreshedAt();
  const due = at !== undefined && system.now() - at > staleAfterMs;
  if (refresh ?? due) await packages.refresh();
}
