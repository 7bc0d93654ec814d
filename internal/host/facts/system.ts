import type { FactTable } from "./fact.ts";
import type { Host } from "./host.ts";

/** Commands of package managers; of several installed ones, the first is used. */
const packageManagers: readonly (readonly [command: string, name: string])[] = [
  ["apt-get", "apt"],
  ["dnf5", "dnf"],
  ["dnf", "dnf"],
  ["tdnf", "tdnf"],
  ["microdnf", "dnf"],
  ["yum", "yum"],
  ["zypper", "zypper"],
  ["pacman", "pacman"],
  ["apk", "apk"],
  ["emerge", "portage"],
  ["xbps-install", "xbps"],
  ["nix-env", "nix"],
  ["brew", "brew"],
];
const commandDirectories = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/opt/homebrew/bin", "/usr/local/bin"];

function initOf(host: Host): string | undefined {
  if (host.platform === "darwin") return "launchd";
  if (host.exists("/run/systemd/system")) return "systemd";
  if (host.exists("/run/openrc")) return "openrc";
  const name = host.read("/proc/1/comm")?.trim();
  return name === "init" ? "sysvinit" : name;
}

/**
 * The version of systemd, where it is installed, as the name of its shared library has it: 252 of
 * `libsystemd-shared-252.so`, and 255 of `libsystemd-shared-255.4-1.so`. It is a text, as the grain of Salt.
 */
function systemdOf(host: Host): { version: string } | undefined {
  const isThere = (command: string) => ["/usr/bin", "/bin"].some((at) => host.exists(`${at}/${command}`));
  if (!isThere("systemctl") || !isThere("localectl")) return undefined;
  const libraries = ["/usr/lib/systemd", "/lib/systemd", ...multiarch(host)].flatMap((at) => host.list(at));
  for (const name of libraries) {
    const [, version] = /^libsystemd-shared-(\d+)[-.~\w]*\.so$/.exec(name) ?? [];
    if (version !== undefined) return { version };
  }
  return undefined;
}

/** Where Debian has the libraries of systemd: below a directory of the architecture. */
function multiarch(host: Host): string[] {
  return host
    .list("/usr/lib")
    .filter((name) => name.includes("-linux-gnu"))
    .map((name) => `/usr/lib/${name}/systemd`);
}

/**
 * The id by which the disk of a host is known from its copies; `undefined` without one, and in a container of Podman,
 * which gives it another one each time it is created, with the same data.
 */
export function installationIdOf(host: Host): string | undefined {
  return host.exists("/run/.containerenv") ? undefined : machineIdOf(host);
}

function machineIdOf(host: Host): string | undefined {
  return host.read("/etc/machine-id")?.trim() || host.read("/var/lib/dbus/machine-id")?.trim() || undefined;
}

function timeZoneOf(host: Host): string | undefined {
  const [, linked] =
    /zoneinfo\/(?:posix\/|right\/)?(.+)$/.exec(host.linkTarget("/etc/localtime") ?? "") ?? [];
  return linked ?? (host.read("/etc/timezone")?.trim() || undefined);
}

/** The name of an id in /etc/passwd or /etc/group. */
function nameIn(text: string | undefined, id: number): string | undefined {
  for (const line of text?.split("\n") ?? []) {
    const [name, , number] = line.split(":");
    if (name && number === String(id)) return name;
  }
  return undefined;
}

/** The configuration of the running system, and the user of this program. */
export const systemFacts: FactTable = {
  init: initOf,
  systemd: systemdOf,
  pkg_manager: (host) =>
    packageManagers.find(([command]) =>
      commandDirectories.some((directory) => host.exists(`${directory}/${command}`)),
    )?.[1],
  timezone: timeZoneOf,
  boot_id: (host) => host.read("/proc/sys/kernel/random/boot_id")?.trim() || undefined,
  machine_id: machineIdOf,
  selinux(host) {
    const enforce = host.read("/sys/fs/selinux/enforce")?.trim();
    if (enforce === undefined) return host.platform === "linux" ? { enabled: false } : undefined;
    return { enabled: true, enforced: enforce === "1" ? "Enforcing" : "Permissive" };
  },
  apparmor: (host) =>
    host.platform === "linux"
      ? { enabled: host.read("/sys/module/apparmor/parameters/enabled")?.trim() === "Y" }
      : undefined,
  path: (host) => host.env.PATH,
  uid: (host) => host.user?.uid,
  gid: (host) => host.user?.gid,
  username: (host) => (host.user === undefined ? undefined : nameIn(host.read("/etc/passwd"), host.user.uid)),
  groupname: (host) => (host.user === undefined ? undefined : nameIn(host.read("/etc/group"), host.user.gid)),
};
