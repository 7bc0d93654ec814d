import { SvcError } from "../../base/errors.ts";
import {
  type InstalledPackages,
  type PackageManager,
  packagesOf,
  refreshIfDue,
  refusePackageName,
  refusePackageVersion,
} from "../system/packages/mod.ts";
import { type System, systemOf } from "../system/system.ts";
import { arg, define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

const names = arg.strings("Names of packages.", { required: true });
const refresh = arg.boolean(
  "Refreshes the package lists first; by default if they are more than an hour old.",
);

/** Functions that manage packages with the package manager of the host. */
export const pkgFunctions: readonly ModuleFunction[] = [
  define({
    name: "pkg.list_pkgs",
    plainArgs: true,
    doc: "Returns the versions of all installed packages, by name.",
    args: {},
    async run(_, context) {
      const installed = await packagesOf(systemOf(context)).installed();
      return Object.fromEntries([...installed].sort().map(([name, versions]) => [name, versions.join(",")]));
    },
  }),
  define({
    name: "pkg.version",
    plainArgs: true,
    doc: "Returns the installed versions of packages; an empty string for a package that is not installed.",
    args: { names },
    refuse: ({ names }) => refuseNames(names),
    async run({ names }, context) {
      const installed = await packagesOf(systemOf(context)).installed();
      return Object.fromEntries(names.map((name) => [name, installed.get(name)?.join(",") ?? ""]));
    },
  }),
  define({
    name: "pkg.list_upgrades",
    plainArgs: true,
    doc: "Returns the newest available versions of outdated packages.",
    args: { refresh },
    async run({ refresh }, context) {
      const system = systemOf(context);
      const packages = packagesOf(system);
      await refreshIfDue(system, packages, refresh);
      const newest = await packages.newest([...(await packages.installed()).keys()]);
      return Object.fromEntries([...newest].sort());
    },
  }),
  define({
    name: "pkg.refresh_db",
    plainArgs: true,
    doc: "Refreshes the package lists.",
    args: {},
    async run(_, context) {
      await packagesOf(systemOf(context)).refresh();
      return true;
    },
  }),
  define({
    name: "pkg.install",
    plainArgs: true,
    doc: "Installs packages and returns the changes.",
    args: {
      names,
      version: arg.string("The version, if exactly one package is given."),
      refresh,
    },
    refuse: ({ names, version }) =>
      refuseNames(names) ??
      (version !== undefined && names.length !== 1 ? "version: requires exactly one package" : undefined) ??
      (version === undefined ? undefined : refusePackageVersion(version)),
    run: ({ names, version, refresh }, context) =>
      changing(systemOf(context), async (packages, system) => {
        await refreshIfDue(system, packages, refresh);
        await packages.install(names.map((name) => (version === undefined ? { name } : { name, version })));
      }),
  }),
  define({
    name: "pkg.remove",
    plainArgs: true,
    doc: "Removes packages and returns the changes. Configuration files are kept.",
    args: { names },
    refuse: ({ names }) => refuseNames(names),
    run: ({ names }, context) => changing(systemOf(context), (packages) => packages.remove(names, false)),
  }),
  define({
    name: "pkg.purge",
    plainArgs: true,
    doc: "Removes packages with their configuration files and returns the changes.",
    args: { names },
    refuse: ({ names }) => refuseNames(names),
    run: ({ names }, context) => changing(systemOf(context), (packages) => packages.remove(names, true)),
  }),
  ...(["pkg.hold", "pkg.unhold"] as const).map((name) =>
    define({
      name,
      plainArgs: true,
      doc:
        name === "pkg.hold"
          ? "Holds packages, so that upgrades leave them as they are, and returns those that were not held; with apt."
          : "Lets held packages go, and returns those that were held; with apt.",
      args: { names },
      refuse: ({ names }) => refuseNames(names),
      run: ({ names }, context) => hold(names, name === "pkg.hold", systemOf(context)),
    }),
  ),
  define({
    name: "pkg.upgrade",
    plainArgs: true,
    doc: "Upgrades all packages to their newest versions and returns the changes.",
    args: { refresh },
    run: ({ refresh }, context) =>
      changing(systemOf(context), async (packages, system) => {
        await refreshIfDue(system, packages, refresh);
        await packages.upgrade();
      }),
  }),
];

function refuseNames(names: readonly string[]): string | undefined {
  if (names.length === 0) return "names: expected at least one package";
  return names.map(refusePackageName).find((problem) => problem !== undefined);
}

/** @throws SvcError with a package manager that holds none */
async function hold(names: readonly string[], isHeld: boolean, system: System): Promise<string[]> {
  const packages = packagesOf(system);
  if (packages.held === undefined || packages.hold === undefined) {
    throw new SvcError("bad_request", `${packages.name} holds no packages here`);
  }
  const held = await packages.held();
  const due = names.filter((name) => held.has(name) !== isHeld);
  if (due.length > 0) await packages.hold(due, isHeld);
  system.forget();
  return due;
}

async function changing(
  system: System,
  run: (packages: PackageManager, system: System) => Promise<void>,
): Promise<Record<string, { old: string; new: string }>> {
  const packages = packagesOf(system);
  const before = await packages.installed();
  await run(packages, system);
  system.forget();
  return packageChanges(before, await packages.installed());
}

/** The changes of packages, by name. */
export function packageChanges(
  before: InstalledPackages,
  after: InstalledPackages,
): Record<string, { old: string; new: string }> {
  const changes: Record<string, { old: string; new: string }> = {};
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(name)?.join(",") ?? "", after.get(name)?.join(",") ?? ""];
    if (old !== now) changes[name] = { old, new: now };
  }
  return changes;
}
