import type { Plain } from "../../base/msgpack.ts";
import type { ArgSpec, CallArgs } from "../../host/modules/mod.ts";
import {
  hasCategory,
  type PackageManager,
  packagesOf,
  refreshIfDue,
  refusePackageName,
  refusePackageVersion,
  systemOf,
  type WantedPackage,
} from "../../host/system/mod.ts";
import {
  type Changes,
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../function/mod.ts";
import { changing } from "./pkg-change.ts";
import { planSources, refuseSources, sourcesArg } from "./pkg-sources.ts";
import { refuseWith, unchanged } from "./steps.ts";

const pkgs = {
  type: "any",
  doc: "Several packages instead of name: a list of names, or of maps from a name to a version.",
} as const satisfies ArgSpec;
const refresh = {
  type: "boolean",
  doc: "Refreshes the package lists first; by default if they are more than an hour old.",
} as const satisfies ArgSpec;

/** Arguments that the states of one transaction may have. */
const joined = new Set(["pkgs", "version", "refresh"]);

/** What `aggregate` does in one transaction. */
const together: StateFunction["together"] = {
  objects: (name, args) => ofState(name, args).map((each) => each.name),
  args(states) {
    if (states.some(({ args }) => Object.keys(args).some((each) => !joined.has(each)))) return undefined;
    const wanted = states.flatMap(({ name, args }) => ofState(name, args));
    const asked = new Set(states.map(({ args }) => args.refresh));
    const refresh = asked.has(true) ? true : asked.size === 1 ? states[0]?.args.refresh : undefined;
    return {
      pkgs: wanted.map(({ name, version }) => (version === undefined ? name : { [name]: version })),
      ...(refresh === undefined ? {} : { refresh }),
    };
  },
};
function ofState(name: string, { pkgs, version }: CallArgs): WantedPackage[] {
  if (pkgs !== undefined) return readPackages(pkgs) ?? [];
  return [typeof version === "string" ? { name, version } : { name }];
}

/** States of packages. */
export const pkgStates: readonly StateFunction[] = [
  defineState({
    name: "pkg.installed",
    doc: "Ensures that packages are installed, in the given versions.",
    args: {
      pkgs,
      version: {
        type: "string",
        doc: "The version, with * as a wildcard, or latest; any version by default.",
      },
      refresh,
      sources: sourcesArg,
    },
    together,
    refuse: ({ pkgs, version, sources }) => refuseSources(sources, pkgs) ?? refusePackages(pkgs, version),
    async plan(name, args, context) {
      if (args.sources !== undefined) return planSources(args.sources, context);
      const wanted = wantedPackages(name, args.pkgs, args.version);
      return planInstalled(wanted, args.refresh, context);
    },
  }),
  defineState({
    name: "pkg.latest",
    doc: "Ensures that packages are installed in the newest available version. The package lists are refreshed even in test mode, if they are old.",
    args: { pkgs, refresh },
    together,
    refuse: ({ pkgs }) => refusePackages(pkgs, undefined),
    async plan(name, args, context) {
      const wanted = wantedPackages(name, args.pkgs, undefined);
      const latest = wanted.map((each) => ({ ...each, version: "latest" }));
      return planInstalled(latest, args.refresh, context);
    },
  }),
  defineState({
    name: "pkg.removed",
    doc: "Ensures that packages are not installed. Their configuration files are kept.",
    args: { pkgs },
    together,
    refuse: ({ pkgs }) => refusePackages(pkgs, undefined),
    plan: (name, args, context) => planRemoved(name, args.pkgs, false, context),
  }),
  defineState({
    name: "pkg.purged",
    doc: "Ensures that packages are not installed and that their configuration files are removed.",
    args: { pkgs },
    together,
    refuse: ({ pkgs }) => refusePackages(pkgs, undefined),
    plan: (name, args, context) => planRemoved(name, args.pkgs, true, context),
  }),
];

function refusePackages(pkgs: Plain | undefined, version: string | undefined): string | undefined {
  if (pkgs === undefined) return version === undefined ? undefined : refusePackageVersion(version);
  if (version !== undefined) return "version and pkgs exclude each other: give the versions in pkgs";
  const read = readPackages(pkgs);
  if (read === undefined) return "pkgs: expected a list of names, or of maps from a name to a version";
  return read
    .map(
      ({ name, version }) =>
        // A tree has packages of other systems as well: one that asks for them here fails when it runs.
        (hasCategory(name) ? undefined : refusePackageName(name)) ??
        (version && refusePackageVersion(version)),
    )
    .find((problem) => problem);
}

function readPackages(pkgs: Plain): WantedPackage[] | undefined {
  if (!Array.isArray(pkgs)) return undefined;
  const read: WantedPackage[] = [];
  for (const item of pkgs) {
    if (typeof item === "string") read.push({ name: item });
    else if (typeof item !== "object" || item === null || Array.isArray(item)) return undefined;
    else {
      for (const [name, version] of Object.entries(item)) {
        if (version !== null && typeof version !== "string" && typeof version !== "number") return undefined;
        read.push(version === null ? { name } : { name, version: String(version) });
      }
    }
  }
  return read;
}

/** @throws StateFailure for an invalid name */
function wantedPackages(name: string, pkgs: Plain | undefined, version: string | undefined): WantedPackage[] {
  const wanted = pkgs === undefined ? undefined : (readPackages(pkgs) ?? []);
  for (const each of wanted ?? [{ name }]) refuseWith(refusePackageName(each.name));
  if (wanted !== undefined) return wanted;
  return [version === undefined ? { name } : { name, version }];
}

async function planInstalled(
  wanted: readonly WantedPackage[],
  refresh: boolean | undefined,
  context: StateContext,
): Promise<Plan> {
  const system = systemOf(context);
  const packages = packagesOf(system);
  const installed = await packages.installed();
  const latest = wanted.filter(({ version }) => version === "latest").map(({ name }) => name);
  if (latest.length > 0) await refreshIfDue(system, packages, refresh);
  const newest = latest.length === 0 ? new Map<string, string>() : await packages.newest(latest);
  const due: WantedPackage[] = [];
  const changes: Changes = {};
  for (const { name, version } of wanted) {
    const versions = installed.get(name);
    if (await isThere(packages, name, versions, version, newest)) continue;
    const asked = version === "latest" ? undefined : version;
    due.push(asked === undefined ? { name } : { name, version: asked });
    changes[name] = { old: versions?.at(-1) ?? "", new: asked ?? newest.get(name) ?? "latest" };
  }
  const names = wanted.map(({ name }) => name).join(", ");
  if (due.length === 0) return unchanged(`${names}: installed as requested`);
  return {
    changes,
    comment: `would be installed: ${describe(due)}`,
    async apply() {
      // For `latest` the lists were refreshed before the newest versions were queried.
      if (latest.length === 0) await refreshIfDue(system, packages, refresh);
      return changing(system, packages, installed, async () => {
        await packages.install(due);
        system.forget();
        await verify(packages, due);
        return { comment: `installed: ${describe(due)}` };
      });
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

async function planRemoved(
  name: string,
  pkgs: Plain | undefined,
  purge: boolean,
  context: StateContext,
): Promise<Plan> {
  const system = systemOf(context);
  const packages = packagesOf(system);
  const [installed, leftovers] = [await packages.installed(), await packages.leftovers()];
  const wanted = wantedPackages(name, pkgs, undefined).map((each) => each.name);
  const due = wanted.filter((each) => installed.has(each) || (purge && leftovers.has(each)));
  if (due.length === 0) return unchanged(`${wanted.join(", ")}: not installed`);
  const what = purge ? "purged" : "removed";
  return {
    changes: Object.fromEntries(
      due.map((each) => [each, { old: installed.get(each)?.at(-1) ?? "configuration", new: "" }]),
    ),
    comment: `would be ${what}: ${due.join(", ")}`,
    apply: () =>
      changing(system, packages, installed, async () => {
        await packages.remove(due, purge);
        return { comment: `${what}: ${due.join(", ")}` };
      }),
  };
}

function describe(packages: readonly WantedPackage[]): string {
  return packages
    .map(({ name, version }) => (version === undefined ? name : `${name} ${version}`))
    .join(", ");
}
