import { basename } from "node:path";
import type { System } from "../system.ts";
import type { Enablement } from "./manager.ts";

/** Directories of systemd units in order of precedence (systemd.unit(5)). */
const unitDirectories = [
  "/etc/systemd/system",
  "/run/systemd/system",
  "/run/systemd/generator",
  "/usr/local/lib/systemd/system",
  "/usr/lib/systemd/system",
  "/lib/systemd/system",
  "/run/systemd/generator.late",
];
const administrator = "/etc/systemd/system";
const unitTypes = /\.(service|socket|timer|path|mount|automount|swap|target|slice|scope|device)$/;

/** The full name of a unit; a name without a type is a service. */
export function unitName(service: string): string {
  return unitTypes.test(service) ? service : `${service}.service`;
}

/** Names of the units of a type with a unit file, without templates. */
export function unitNames(system: System, type: string): string[] {
  const all = unitDirectories.flatMap((directory) => system.list(directory));
  return [...new Set(all.filter((name) => name.endsWith(type) && !name.endsWith(`@${type}`)))].sort();
}

/** The file of a unit, or of its template. */
export function unitFile(system: System, unit: string): string | undefined {
  const template = unit.replace(/@[^.]+\./, "@.");
  for (const name of new Set([unit, template])) {
    for (const directory of unitDirectories) {
      const path = `${directory}/${name}`;
      // A link to /dev/null counts as existing.
      if (system.linkTarget(path) !== undefined || system.exists(path)) return path;
    }
  }
  return undefined;
}

/**
 * Whether a unit starts at boot, according to the links that `systemctl enable` creates. Gives the same
 * result as `systemctl is-enabled`, without running a program, and also where systemd is not running, as in
 * an image. A unit that is enabled only until the next reboot counts as disabled.
 *
 * @returns `undefined` when the unit does not exist
 */
export function unitEnablement(system: System, unit: string): Enablement | undefined {
  const path = unitFile(system, unit);
  if (path === undefined) return undefined;
  const target = system.linkTarget(path);
  if (target === "/dev/null") return "masked";
  // An alias is enabled when its unit is.
  if (target !== undefined && basename(target) !== basename(path)) {
    return unitEnablement(system, basename(target));
  }
  if (enabledUnits(system).has(unit)) return "enabled";
  return hasInstall(system.read(path) ?? "") ? "disabled" : "static";
}

/** Units that a link of the administrator points to, by their own names. */
function enabledUnits(system: System): ReadonlySet<string> {
  return system.memo("enabled units", () => {
    const found = new Set<string>();
    for (const name of system.list(administrator)) {
      if (/\.(wants|requires|upholds)$/.test(name)) {
        for (const unit of system.list(`${administrator}/${name}`)) found.add(unit);
        continue;
      }
      const target = system.linkTarget(`${administrator}/${name}`);
      // A link with the name of the unit itself does not enable it.
      if (target !== undefined && basename(target) !== name) found.add(basename(target));
    }
    return found;
  });
}

function hasInstall(text: string): boolean {
  const section = /^\[Install\]\s*$([\s\S]*?)(?=^\[|(?![\s\S]))/m.exec(text)?.[1] ?? "";
  return /^\s*(WantedBy|RequiredBy|UpheldBy|Alias|Also)\s*=\s*\S/m.test(section);
}
