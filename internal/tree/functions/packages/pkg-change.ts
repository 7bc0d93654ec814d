import { packageChanges } from "../../../host/modules/mod.ts";
import type { InstalledPackages, PackageManager } from "../../../host/system/packages/mod.ts";
import type { System } from "../../../host/system/system.ts";
import { type Changes, StateFailure } from "../../function/mod.ts";

/** Runs a change and reports every package that changed, including dependencies. */
export async function changing(
  system: System,
  packages: Pick<PackageManager, "installed">,
  before: InstalledPackages,
  run: () => Promise<{ comment: string }>,
): Promise<{ changes?: Changes; comment: string }> {
  const difference = async (): Promise<Changes> => {
    system.forget();
    return packageChanges(before, await packages.installed());
  };
  try {
    const { comment } = await run();
    const changes = await difference();
    return Object.keys(changes).length === 0 ? { comment } : { changes, comment };
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    throw new StateFailure(thrown.message, await difference(), { cause: thrown });
  }
}
