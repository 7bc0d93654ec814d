import { SvcError } from "../../../base/errors.ts";
import type { System } from "../system.ts";
import { apkPackages } from "./apk.ts";
import { aptPackages } from "./apt.ts";
import type { PackageManager } from "./manager.ts";
import { rpmPackages } from "./rpm.ts";

const supported = "apt-get, dnf, yum, apk";

/**
 * Opens the package manager of a host: the one named by the fact `pkg_manager`, or else an installed one.
 *
 * @throws SvcError `bad_request` naming the supported programs
 */
export function packagesOf(system: System): PackageManager {
  return system.memo("package manager", () => open(system));
}

function open(system: System): PackageManager {
  const fact = system.fact("pkg_manager");
  if (fact === "apt" || system.has("apt-get")) return aptPackages(system);
  for (const program of ["dnf", "yum"] as const) {
    if (system.has(program)) return rpmPackages(system, program);
  }
  if (system.has("apk")) return apkPackages(system);
  const found = fact === undefined ? "" : `; ${fact} is not supported`;
  throw new SvcError(
    "bad_request",
    `pkg: no supported package manager found: looked for ${supported}${found}`,
  );
}
