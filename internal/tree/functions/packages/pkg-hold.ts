import { arg } from "../../../host/modules/mod.ts";
import { type PackageManager, packagesOf } from "../../../host/system/packages/mod.ts";
import { type System, systemOf } from "../../../host/system/system.ts";
import { type Changes, type Plan, type StateContext, StateFailure } from "../../function/mod.ts";
import { unchanged } from "../steps.ts";

export const holdArg = arg.boolean(
  "Holds the packages, so that upgrades leave them as they are; false lets them go. By default it is left as it is.",
);

/** What holding packages, or letting them go, changes. */
export interface HoldChange {
  readonly changes: Changes;
  /** What would be done, in a sentence of a plan. */
  readonly words: string;
  run(): Promise<void>;
}

/**
 * Compares what is held with what should be.
 *
 * @param hold nothing is changed without it
 * @returns `undefined` if all packages are as wanted
 * @throws StateFailure with a package manager that holds none
 */
export async function holdChange(
  names: readonly string[],
  hold: boolean | undefined,
  packages: PackageManager,
  system: System,
): Promise<HoldChange | undefined> {
  if (hold === undefined) return undefined;
  if (packages.held === undefined) throw new StateFailure(`hold: ${packages.name} holds no packages here`);
  const held = await packages.held();
  const due = names.filter((name) => held.has(name) !== hold);
  if (due.length === 0) return undefined;
  return {
    changes: { [hold ? "held" : "let go"]: due },
    words: `${hold ? "held" : "let go"}: ${due.join(", ")}`,
    async run() {
      await packages.hold?.(due, hold);
      system.forget();
    },
  };
}

/** Plans that packages are held, or not. */
export async function planHeld(
  names: readonly string[],
  hold: boolean,
  context: StateContext,
): Promise<Plan> {
  const system = systemOf(context);
  const change = await holdChange(names, hold, packagesOf(system), system);
  if (change === undefined) return unchanged(`${names.join(", ")}: ${hold ? "held" : "not held"}`);
  return {
    changes: change.changes,
    comment: `would be ${change.words}`,
    async apply() {
      await change.run();
      return { comment: change.words };
    },
  };
}
