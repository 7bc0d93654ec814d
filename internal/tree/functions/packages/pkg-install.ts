import { defined } from "../../../base/defined.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import {
  type InstallOptions,
  type PackageManager,
  packagesOf,
  refreshIfDue,
  type WantedPackage,
} from "../../../host/system/packages/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import { type Changes, type Plan, type StateContext, StateFailure } from "../../function/mod.ts";
import { unchanged } from "../steps.ts";
import { changing } from "./pkg-change.ts";
import { holdChange } from "./pkg-hold.ts";
import { namesOf } from "./pkg-wanted.ts";

/** How packages are installed; the names are those of Salt. */
export const installArgs = {
  fromrepo: arg.string(
    "Where versions come from: a release of apt, such as bookworm-backports, or a repository of dnf.",
  ),
  install_recommends: arg.boolean(
    "Whether recommended packages are installed as well; by default as the host is set up. apk has none.",
  ),
  update_holds: arg.boolean("Changes packages that are held as well, with apt; false by default."),
} as const satisfies Record<string, ArgSpec>;

interface InstallArgs {
  refresh: boolean | undefined;
  fromrepo: string | undefined;
  install_recommends: boolean | undefined;
  update_holds: boolean | undefined;
  hold?: boolean | undefined;
}

/** Plans that packages are installed in their versions, and held or not. */
export async function planInstalled(
  wanted: readonly WantedPackage[],
  { refresh, fromrepo, install_recommends, update_holds, hold }: InstallArgs,
  context: StateContext,
): Promise<Plan> {
  const system = systemOf(context);
  const packages = packagesOf(system);
  const installed = await packages.installed();
  const latest = wanted.filter(({ version }) => version === "latest").map(({ name }) => name);
  if (latest.length > 0) await refreshIfDue(system, packages, refresh);
  const newest = latest.length === 0 ? new Map<string, string>() : await packages.newest(latest, fromrepo);
  const due: WantedPackage[] = [];
  const changes: Changes = {};
  for (const { name, version } of wanted) {
    const versions = installed.get(name);
    if (await isThere(packages, name, versions, version, newest)) continue;
    const requested = version === "latest" ? undefined : version;
    due.push(requested === undefined ? { name } : { name, version: requested });
    changes[name] = { old: versions?.at(-1) ?? "", new: requested ?? newest.get(name) ?? "latest" };
  }
  const holding = await holdChange(namesOf(wanted), hold, packages, system);
  const options = defined({ from: fromrepo, recommends: install_recommends, changesHeld: update_holds });
  if (due.length === 0 && holding === undefined)
    return unchanged(`${namesOf(wanted).join(", ")}: installed as requested`);
  const words = [
    ...(due.length === 0 ? [] : [`installed: ${describe(due)}`]),
    ...(holding ? [holding.words] : []),
  ];
  const comment = words.join("; ");
  return {
    changes: { ...changes, ...holding?.changes },
    comment: `would be ${comment}`,
    async apply() {
      if (due.length === 0 || hold === false) await holding?.run();
      if (due.length === 0) return { comment };
      // For `latest` the lists were refreshed before the newest versions were queried.
      if (latest.length === 0) await refreshIfDue(system, packages, refresh);
      const done = await changing(system, packages, installed, async () => {
        await packages.install(due, options satisfies InstallOptions);
        system.forget();
        await verify(packages, due);
        if (hold === true) await holding?.run();
        return { comment };
      });
      return { ...done, changes: { ...(done.changes ?? changes), ...holding?.changes } };
    },
  };
}

async function isThere(
  packages: PackageManager,
  name: string,
  versions: readonly string[] | undefined,
  wanted: string | undefined,
  newest: ReadonlyMap<string, string>,
): Promise<boolean> {
  if (wanted === "latest") return versions !== undefined && !newest.has(name);
  if (versions !== undefined)
    return wanted === undefined || versions.some((each) => packages.fits(wanted, each));
  return wanted === undefined && (await packages.providers(name)).length > 0;
}

/** @throws SvcError when a package does not have the requested version */
async function verify(packages: PackageManager, due: readonly WantedPackage[]): Promise<void> {
  const installed = await packages.installed();
  for (const { name, version } of due) {
    const versions = installed.get(name);
    if (await isThere(packages, name, versions, version, new Map())) continue;
    throw new StateFailure(
      versions === undefined
        ? `${packages.name} did not install ${name} and reported no error`
        : `${name} is ${versions.join(", ")} instead of ${version}: ${packages.name} did not change it`,
    );
  }
}

function describe(packages: readonly WantedPackage[]): string {
  return packages
    .map(({ name, version }) => (version === undefined ? name : `${name} ${version}`))
    .join(", ");
}
