import { basename } from "node:path";
import type { System } from "../system.ts";
import type { Enablement } from "./manager.ts";

/** Where systemd looks for units, the first one wins (systemd.unit(5)). */
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

/** The whole name of a unit: a bare name is a service. */
export function unitName(service: string): string {
  return unitTypes.test(service) ? service : `${service}.service`;
}

/** Names of the units of a type that have a file, without templates. */
export function unitNames(system: System, type: string): string[] {
  const all = unitDirectories.flatMap((directory) => system.list(directory));
  return [...new Set(all.filter((name) => name.endsWith(type) && !name.endsWith(`@${type}`)))].sort();
}

/** The file of a unit, or of the template it is made from. */
export function unitFile(system: System, unit: string): string | undefined {
  const template = unit.replace(/@[^.]+\./, "@.");
  for (const name of new Set([unit, template])) {
    for (const directory of unitDirectories) {
      const path = `${directory}/${name}`;
      // A link to /dev/null is there as well.
      if (system.linkTarget(path) !== undefined || system.exists(path)) return path;
    }
  }
  return undefined;
}

/**
 * Whether a unit starts with the host, by the links that `systemctl enable` makes: what `systemctl
 * is-enabled` says, without a program, and also where systemd does not run, as in an image. A unit that is
 * enabled until the next start of the host only counts as disabled.
 *
 * @returns nothing when there is no such unit
 */
export function unitEnablement(system: System, unit: string): Enablement | undefined {
  const path = unitFile(system, unit);
  if (path === undefined) return undefined;
  const target = system.linkTarget(path);
  if (target === "/dev/null") return "masked";
  // An alias is enabled when the unit is that it stands for.
  if (target !== undefined && basename(target) !== basename(path)) {
    return unitEnablement(system, basename(target));
  }
  if (enabledUnits(system).has(unit)) return "enabled";
  return hasInstall(system.read(path) ?? "") ? "disabled" : "static";
}

/** Units that a link of the administrator leads to, by their own names. */
function enabledUnits(system: System): ReadonlySet<string> {
  return system.memo("enabled units", () => {
    const found = new Set<string>();
    for (const name of system.list(administrator)) {
      if (/\.(wants|requires|upholds)$/.test(name)) {
        for (const unit of system.list(`${administrator}/${name}`)) found.add(unit);
        continue;
      }
      const target = system.linkTarget(`${administrator}/${name}`);
      // A unit that is linked in under its own name is not enabled by that.
      if (target !== undefined && basename(target) !== name) found.add(basename(target));
    }
    return found;
  });
}

function hasInstall(text: string): boolean {
  const section = /^\[Install\]\s*$([\s\S]*?)(?=^\[|(?![\s\S]))/m.exec(text)?.[1] ?? "";
  return /^\s*(WantedBy|RequiredBy|UpheldBy|Alias|Also)\s*=\s*\S/m.test(section);
}
