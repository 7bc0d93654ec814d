import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { type PackageManager, packagesOf } from "../../../host/system/packages/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import { defineState, type Plan, StateFailure, type StateFunction } from "../../function/mod.ts";
import { planAptAbsent, planAptManaged } from "./pkgrepo-apt.ts";
import { keyArgs, refuseKey, warnOfKey } from "./pkgrepo-key.ts";
import { planRpmAbsent, planRpmManaged } from "./pkgrepo-rpm.ts";
import { rpmArgs } from "./pkgrepo-rpm-args.ts";

const aptArgs = {
  file: arg.path(
    "With apt, file of a new repository; /etc/apt/sources.list by default. With the suffix .sources it has the format of deb822.",
  ),
  clean_file: arg.boolean(
    "With apt, a change of the repository removes everything else from its file; false by default.",
  ),
  dist: arg.string("With apt, the suite, instead of the one in name."),
  comps: arg.any("With apt, the components, instead of those in name: a list, or text with commas."),
  architectures: arg.any("With apt, architectures: a list, or text with commas."),
  ...keyArgs,
} as const satisfies Record<string, ArgSpec>;

const shared = {
  enabled: arg.any("Whether packages are installed from it; true by default."),
  disabled: arg.any("The opposite of enabled."),
  humanname: arg.string("Name of the repository for people; apt has none."),
  comments: arg.strings("Comments above the repository."),
  refresh: arg.boolean("Refreshes the package lists after a change; true by default."),
  refresh_db: arg.boolean("Alias of refresh."),
} as const satisfies Record<string, ArgSpec>;

const ppaArg = arg.string("A repository of Launchpad, as user/archive. Ubuntu only.");

/** States of the sources that packages are installed from. */
export const pkgrepoStates: readonly StateFunction[] = [
  defineState({
    name: "pkgrepo.managed",
    doc: "Ensures that packages can be installed from a repository. With apt, name is its line: deb https://… suite component. With dnf and yum, name is its id.",
    args: { ...shared, ppa: ppaArg, ...aptArgs, ...rpmArgs },
    refuse(args) {
      if (args.enabled !== undefined && args.disabled !== undefined)
        return "give only one of enabled, disabled";
      const wrong = (["enabled", "disabled"] as const).find(
        (each) => args[each] !== undefined && truthOf(args[each]) === undefined,
      );
      if (wrong !== undefined) return `${wrong}: expected true or false`;
      return refuseKey(args);
    },
    warn: (args) => warnOfKey(args),
    async plan(name, args, context) {
      const off = truthOf(args.disabled);
      const enabled = off === undefined ? (truthOf(args.enabled) ?? true) : !off;
      const wish = { ...args, name, enabled, refresh: args.refresh ?? args.refresh_db ?? true };
      return isRpm(packagesOf(systemOf(context)))
        ? planRpmManaged(wish, context)
        : planAptManaged(wish, context);
    },
  }),
  defineState({
    name: "pkgrepo.absent",
    doc: "Ensures that no packages are installed from a repository. Its keys stay.",
    args: { ppa: ppaArg, refresh: shared.refresh },
    plan: (name, args, context): Promise<Plan> | Plan =>
      isRpm(packagesOf(systemOf(context)))
        ? planRpmAbsent(name, context)
        : planAptAbsent(name, args.ppa, args.refresh ?? true, context),
  }),
];

/** @throws StateFailure when the host has no supported package manager */
function isRpm({ name }: PackageManager): boolean {
  if (name === "apt") return false;
  if (name === "dnf" || name === "yum") return true;
  throw new StateFailure(
    `pkgrepo: repositories of ${name} are not supported; write its file with file.managed`,
  );
}

/** Salt's trees write 1 and 0, and text, where true and false are meant. */
function truthOf(value: unknown): boolean | undefined {
  if (value === true || value === 1 || (typeof value === "string" && /^(?:true|yes|on|1)$/i.test(value)))
    return true;
  if (value === false || value === 0 || (typeof value === "string" && /^(?:false|no|off|0)$/i.test(value)))
    return false;
  return undefined;
}
