import type { Plain } from "../../../base/msgpack.ts";
import { arg, type CallArgs } from "../../../host/modules/mod.ts";
import { packagesOf, refuseSourceName, type WantedPackage } from "../../../host/system/packages/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import { defineState, type Plan, type StateContext, type StateFunction } from "../../function/mod.ts";
import { unchanged } from "../steps.ts";
import { changing } from "./pkg-change.ts";
import { holdArg, planHeld } from "./pkg-hold.ts";
import { installArgs, planInstalled } from "./pkg-install.ts";
import { planSources, refuseSources, sourcesArg } from "./pkg-sources.ts";
import { namesOf, pkgsArg, readPackages, refusePackages, wantedPackages } from "./pkg-wanted.ts";

const refresh = arg.boolean(
  "Refreshes the package lists first; by default if they are more than an hour old.",
);
/** Arguments that the states of one transaction may have. */
const joined = new Set(["pkgs", "version", "refresh"]);

/** What `aggregate` does in one transaction. */
const together: StateFunction["together"] = {
  objects: (name, args) => ofState(name, args).map((each) => each.name),
  args(states) {
    if (states.some(({ args }) => Object.keys(args).some((each) => !joined.has(each)))) return undefined;
    const wanted = states.flatMap(({ name, args }) => ofState(name, args));
    const requested = new Set(states.map(({ args }) => args.refresh));
    const refresh = requested.has(true) ? true : requested.size === 1 ? states[0]?.args.refresh : undefined;
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
      pkgs: pkgsArg,
      version: arg.string("The version, with * as a wildcard, or latest; any version by default."),
      refresh,
      sources: sourcesArg,
      hold: holdArg,
      ...installArgs,
    },
    together,
    refuse: ({ pkgs, version, sources, fromrepo, hold }) =>
      refuseSources(sources, pkgs) ??
      (sources !== undefined && hold !== undefined
        ? "hold: give it to a state without sources"
        : undefined) ??
      refusePackages(pkgs, version) ??
      (fromrepo && refuseSourceName(fromrepo)),
    async plan(name, args, context) {
      if (args.sources !== undefined) return planSources(args.sources, context);
      return planInstalled(wantedPackages(name, args.pkgs, args.version), args, context);
    },
  }),
  defineState({
    name: "pkg.latest",
    doc: "Ensures that packages are installed in the newest available version. The package lists are refreshed even in test mode, if they are old.",
    args: { pkgs: pkgsArg, refresh, ...installArgs },
    together,
    refuse: ({ pkgs, fromrepo }) =>
      refusePackages(pkgs, undefined) ?? (fromrepo && refuseSourceName(fromrepo)),
    async plan(name, args, context) {
      const wanted = wantedPackages(name, args.pkgs, undefined);
      const latest = wanted.map((each) => ({ ...each, version: "latest" }));
      return planInstalled(latest, args, context);
    },
  }),
  defineState({
    name: "pkg.held",
    doc: "Ensures that packages are held, so that upgrades leave them as they are. Works with apt.",
    args: { pkgs: pkgsArg },
    refuse: ({ pkgs }) => refusePackages(pkgs, undefined),
    plan: (name, { pkgs }, context) =>
      planHeld(namesOf(wantedPackages(name, pkgs, undefined)), true, context),
  }),
  defineState({
    name: "pkg.unheld",
    doc: "Ensures that packages are not held. Works with apt.",
    args: { pkgs: pkgsArg },
    refuse: ({ pkgs }) => refusePackages(pkgs, undefined),
    plan: (name, { pkgs }, context) =>
      planHeld(namesOf(wantedPackages(name, pkgs, undefined)), false, context),
  }),
  defineState({
    name: "pkg.removed",
    doc: "Ensures that packages are not installed. Their configuration files are kept.",
    args: { pkgs: pkgsArg },
    together,
    refuse: ({ pkgs }) => refusePackages(pkgs, undefined),
    plan: (name, args, context) => planRemoved(name, args.pkgs, false, context),
  }),
  defineState({
    name: "pkg.purged",
    doc: "Ensures that packages are not installed and that their configuration files are removed.",
    args: { pkgs: pkgsArg },
    together,
    refuse: ({ pkgs }) => refusePackages(pkgs, undefined),
    plan: (name, args, context) => planRemoved(name, args.pkgs, true, context),
  }),
];

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
