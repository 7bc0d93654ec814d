import { quote } from "../../base/cut.ts";
import type { System } from "./system.ts";

const zones = "/usr/share/zoneinfo";
const localtime = "/etc/localtime";
/** Debian and Alpine also store the name here. */
const nameFile = "/etc/timezone";

/** The name of the time zone, if the host provides it. */
export function currentZone(system: System): string | undefined {
  const target = system.linkTarget(localtime);
  if (target === undefined) return system.read(nameFile)?.trim() || undefined;
  return /zoneinfo\/(?:posix\/|right\/)?(.+)$/.exec(target)?.[1];
}

/** The problem with the name of a time zone on this host, if any. */
export function zoneProblem(system: System, name: string): string | undefined {
  const isName = /^[A-Za-z0-9+_-]+(\/[A-Za-z0-9+_-]+)*$/.test(name);
  if (isName && system.exists(`${zones}/${name}`) && !system.isDirectory(`${zones}/${name}`))
    return undefined;
  const reason = system.exists(zones) ? "unknown time zone on this host" : "install tzdata";
  return `${quote(name)}: ${reason}`;
}

/** @throws SvcError `storage` */
export function setZone(system: System, name: string): void {
  system.link(localtime, `${zones}/${name}`);
  if (system.exists(nameFile)) system.write(nameFile, `${name}\n`);
}
