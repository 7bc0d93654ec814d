import type { Plain } from "../../../base/msgpack.ts";
import { arg } from "../../../host/modules/mod.ts";
import {
  hasCategory,
  refusePackageName,
  refusePackageVersion,
  type WantedPackage,
} from "../../../host/system/packages/mod.ts";
import { refuseWith } from "../steps.ts";

export const pkgsArg = arg.any(
  "Several packages instead of name: a list of names, or of maps from a name to a version.",
);

/** The problem with the packages of a state, if any. */
export function refusePackages(pkgs: Plain | undefined, version: string | undefined): string | undefined {
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

/** The packages of `pkgs`; `undefined` for another shape. */
export function readPackages(pkgs: Plain): WantedPackage[] | undefined {
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

/** The packages of a state. @throws StateFailure for an invalid name */
export function wantedPackages(
  name: string,
  pkgs: Plain | undefined,
  version: string | undefined,
): WantedPackage[] {
  const wanted = pkgs === undefined ? undefined : (readPackages(pkgs) ?? []);
  for (const each of wanted ?? [{ name }]) refuseWith(refusePackageName(each.name));
  if (wanted !== undefined) return wanted;
  return [version === undefined ? { name } : { name, version }];
}

/** The names of packages. */
export function namesOf(packages: readonly WantedPackage[]): string[] {
  return packages.map(({ name }) => name);
}
