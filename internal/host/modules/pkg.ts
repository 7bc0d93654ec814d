import {
  type InstalledPackages,
  type PackageManager,
  refusePackageName,
  refusePackageVersion,
} from "../system/packages/manager.ts";
import { packagesOf } from "../system/packages/open.ts";
import { refreshIfDue } from "../system/packages/refresh.ts";
import { type System, systemOf } from "../system/system.ts";
import { define } from "./define.ts";
import type { ArgSpec, ModuleFunction } from "./function.ts";

const names = {
  type: "strings",
  required: true,
  doc: "Names of packages.",
} as const satisfies ArgSpec;
const refresh = {
  type: "boolean",
  doc: "Looks at the sources of packages first; by default when that was more than an hour ago.",
} as const satisfies ArgSpec;

/** Functions of packages, by the package manager of the host. */
export const pkgFunctions: readonly ModuleFunction[] = [
  define({
    name: "pkg.list_pkgs",
    doc: "Gives the versions of every installed package, by name.",
    args: {},
    async run(_, context) {
      const installed = await packagesOf(systemOf(context)).installed();
      return Object.fromEntries([...installed].sort().map(([name, versions]) => [name, versions.join(",")]));
    },
  }),
  define({
    name: "pkg.version",
    doc: "Gives the installed versions of packages; of one that is not installed, an empty text.",
    args: { names },
    refuse: ({ names }) => refuseNames(names),
    async run({ names }, context) {
      const installed = await packagesOf(systemOf(context)).installed();
      return Object.fromEntries(names.map((name) => [name, installed.get(name)?.join(",") ?? ""]));
    },
  }),
  define({
    name: "pkg.list_upgrades",
    doc: "Gives the newest versions of installed packages that are not the newest.",
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
    doc: "Looks at the sources of packages.",
    args: {},
    async run(_, context) {
      await packagesOf(systemOf(context)).refresh();
      return true;
    },
  }),
  define({
    name: "pkg.install",
    doc: "Installs packages, and gives what changed.",
    args: { names, version: { type: "string", doc: "The version, when it is one package." }, refresh },
    refuse: ({ names, version }) =>
      refuseNames(names) ??
      (version !== undefined && names.length !== 1 ? "version: give it with one package" : undefined) ??
      (version === undefined ? undefined : refusePackageVersion(version)),
    run: ({ names, version, refresh }, context) =>
      changing(systemOf(context), async (packages, system) => {
        await refreshIfDue(system, packages, refresh);
        await packages.install(names.map((name) => (version === undefined ? { name } : { name, version })));
      }),
  }),
  define({
    name: "pkg.remove",
    doc: "Removes packages, and gives what changed. What they were configured with stays.",
    args: { names },
    refuse: ({ names }) => refuseNames(names),
    run: ({ names }, context) => changing(systemOf(context), (packages) => packages.remove(names, false)),
  }),
  define({
    name: "pkg.purge",
    doc: "Removes packages with what they were configured with, and gives what changed.",
    args: { names },
    refuse: ({ names }) => refuseNames(names),
    run: ({ names }, context) => changing(systemOf(context), (packages) => packages.remove(names, true)),
  }),
  define({
    name: "pkg.upgrade",
    doc: "Brings every package to its newest version, and gives what changed.",
    args: { refresh },
    run: ({ refresh }, context) =>
      changing(systemOf(context), async (packages, system) => {
        await refreshIfDue(system, packages, refresh);
        await packages.upgrade();
      }),
  }),
];

function refuseNames(names: readonly string[]): string | undefined {
  if (names.length === 0) return "names: name a package";
  return names.map(refusePackageName).find((problem) => problem !== undefined);
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

/** What became of packages, by name. */
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
