import type { FactTable } from "./fact.ts";
import type { Host } from "./host.ts";

interface System {
  os: string;
  os_family: string;
  osfullname: string;
  osrelease: string | undefined;
  oscodename: string | undefined;
}

/** Maps `ID` of os-release to Salt's values of `os` and `os_family`. */
const systems: Record<string, readonly [os: string, family: string]> = {
  almalinux: ["AlmaLinux", "RedHat"],
  alpine: ["Alpine", "Alpine"],
  altlinux: ["ALT", "RedHat"],
  amzn: ["Amazon", "RedHat"],
  arch: ["Arch", "Arch"],
  archarm: ["Arch ARM", "Arch"],
  centos: ["CentOS", "RedHat"],
  cloudlinux: ["CloudLinux", "RedHat"],
  debian: ["Debian", "Debian"],
  devuan: ["Devuan", "Debian"],
  fedora: ["Fedora", "RedHat"],
  gentoo: ["Gentoo", "Gentoo"],
  kali: ["Kali", "Debian"],
  linuxmint: ["Mint", "Debian"],
  manjaro: ["Manjaro", "Arch"],
  nixos: ["NixOS", "NixOS"],
  ol: ["OEL", "RedHat"],
  opensuse: ["SUSE", "Suse"],
  "opensuse-leap": ["SUSE", "Suse"],
  "opensuse-tumbleweed": ["SUSE", "Suse"],
  photon: ["VMware Photon OS", "RedHat"],
  pop: ["Pop", "Debian"],
  raspbian: ["Raspbian", "Debian"],
  rhel: ["RedHat", "RedHat"],
  rocky: ["Rocky", "RedHat"],
  sled: ["SUSE", "Suse"],
  sles: ["SUSE", "Suse"],
  sles_sap: ["SUSE", "Suse"],
  "sl-micro": ["SUSE", "Suse"],
  ubuntu: ["Ubuntu", "Debian"],
  void: ["Void", "Void"],
};

/** Parses os-release (freedesktop.org, os-release(5)): assignments as in a shell, without expansion. */
export function parseOsRelease(text: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const [, key, raw] = /^\s*([A-Z][A-Z0-9_]*)=(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined || raw === undefined) continue;
    const [, quote, inner] = /^(["'])(.*)\1$/.exec(raw) ?? [];
    if (quote === "'") fields[key] = inner ?? "";
    else fields[key] = (inner ?? raw).replace(/\\(["'$`\\])/g, "$1");
  }
  return fields;
}

function linuxSystem(host: Host): System | undefined {
  const text = host.read("/etc/os-release") ?? host.read("/usr/lib/os-release");
  if (text === undefined) return undefined;
  const fields = parseOsRelease(text);
  const id = (fields.ID ?? "").toLowerCase();
  const name = fields.NAME || fields.PRETTY_NAME || fields.ID || "Linux";
  // The name of a product tells openSUSE from its derivatives, which have IDs of their own.
  const isSuse = /^cpe:(?:\/|2\.3:)[aoh]:(?:open)?suse:/i.test(fields.CPE_NAME ?? "");
  const [os, family] = systems[id] ?? (isSuse ? suse : []);
  const stream = id === "centos" && name.includes("Stream");
  const ownName = os ?? name.replace(/\W(?:GNU\/)?Linux/gi, "").trim();
  const inherited = (fields.ID_LIKE ?? "").split(/\s+/).flatMap((like) => systems[like.toLowerCase()] ?? []);
  const found = stream ? "CentOS Stream" : ownName || "Linux";
  return {
    os: found,
    os_family: family ?? inherited[1] ?? (ownName || "Linux"),
    osfullname: isSuse && name === "openSUSE Leap" ? "Leap" : name,
    osrelease: fields.VERSION_ID || fields.BUILD_ID || unknownRelease,
    oscodename: codeNameOf(found, fields),
  };
}

/** What Salt has where nothing names the release: the answer of lsb_release. */
const unknownRelease = "n/a";
const suse = ["SUSE", "Suse"] as const;

/** As in Salt, the whole name where a system has no name for its release; in brackets, it has one in that. */
function codeNameOf(os: string, { VERSION_CODENAME, PRETTY_NAME, VERSION }: Record<string, string>): string {
  const name = (VERSION_CODENAME ?? PRETTY_NAME ?? "Linux").trim();
  if (name.includes("Red Hat")) return inBrackets.exec(VERSION ?? "")?.[1] ?? "";
  return (os === "Rocky" || os === "AlmaLinux" ? inBrackets.exec(name)?.[1] : undefined) ?? name;
}

/** "9.4 (Blue Onyx)" */
const inBrackets = /\(([^)]+)\)\s*$/;

function darwinSystem(host: Host): System | undefined {
  const text = host.read("/System/Library/CoreServices/SystemVersion.plist");
  if (text === undefined) return undefined;
  const field = (key: string) => new RegExp(`<key>${key}</key>\\s*<string>([^<]*)</string>`).exec(text)?.[1];
  return {
    os: "MacOS",
    os_family: "MacOS",
    osfullname: field("ProductName") ?? "macOS",
    osrelease: field("ProductVersion"),
    oscodename: undefined,
  };
}

function systemOf(host: Host): System {
  const found = host.platform === "darwin" ? darwinSystem(host) : linuxSystem(host);
  if (found !== undefined) return found;
  const { type } = host.uname;
  const release = host.platform === "linux" ? { osrelease: unknownRelease, oscodename: "" } : {};
  return {
    os: type,
    os_family: type,
    osfullname: type,
    osrelease: undefined,
    oscodename: undefined,
    ...release,
  };
}

function major(release: string | undefined): number | undefined {
  const [digits] = /^\d+/.exec(release ?? "") ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The parts of a release: numbers where they are numbers. */
function releaseInfo(release: string | undefined): (number | string)[] | undefined {
  return release?.split(".").map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : part));
}

function linuxOnly(host: Host, value: string | undefined): string | undefined {
  return host.platform === "linux" ? value : undefined;
}

/** The operating system, with the names and values of Salt's grains. */
export const osFacts: FactTable = {
  os: (host) => systemOf(host).os,
  os_family: (host) => systemOf(host).os_family,
  osfullname: (host) => systemOf(host).osfullname,
  osrelease: (host) => systemOf(host).osrelease,
  osmajorrelease: (host) => major(systemOf(host).osrelease),
  oscodename: (host) => systemOf(host).oscodename,
  osrelease_info: (host) => releaseInfo(systemOf(host).osrelease),
  lsb_distrib_id: (host) => linuxOnly(host, systemOf(host).os),
  lsb_distrib_release: (host) => linuxOnly(host, systemOf(host).osrelease),
  lsb_distrib_codename: (host) => linuxOnly(host, systemOf(host).oscodename),
  osfinger(host) {
    const { os, osfullname, osrelease } = systemOf(host);
    if (osrelease === undefined) return undefined;
    const name = os === "Debian" || os === "MacOS" || os === "Raspbian" ? os : osfullname;
    const isWhole = os === "Ubuntu" || os === "Pop";
    return `${name}-${isWhole ? osrelease : osrelease.split(".")[0]}`;
  },
  osarch(host) {
    const { machine } = host.uname;
    return systemOf(host).os_family === "Debian" ? (debianNames[machine] ?? machine) : machine;
  },
};

/** Maps the kernel's name of an architecture to the name in dpkg. */
const debianNames: Record<string, string> = {
  aarch64: "arm64",
  armv6l: "armel",
  armv7l: "armhf",
  i386: "i386",
  i586: "i386",
  i686: "i386",
  loongarch64: "loong64",
  ppc64le: "ppc64el",
  x86_64: "amd64",
};
