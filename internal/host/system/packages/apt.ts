import { type System, succeed } from "../system.ts";
import { type DpkgStatus, parseDpkgStatus } from "./dpkg-status.ts";
import {
  fitsPattern,
  listBytes,
  type PackageManager,
  packageTimeoutMs,
  type WantedPackage,
} from "./manager.ts";

const statusFile = "/var/lib/dpkg/status";
/** Runs non-interactively, and keeps changed configuration files of the host. */
const environment = {
  DEBIAN_FRONTEND: "noninteractive",
  APT_LISTCHANGES_FRONTEND: "none",
  UCF_FORCE_CONFFOLD: "1",
};
const quiet = [
  "-q",
  "-y",
  "-o",
  "Dpkg::Options::=--force-confdef",
  "-o",
  "Dpkg::Options::=--force-confold",
  // Wait for another program that is installing packages.
  "-o",
  "DPkg::Lock::Timeout=120",
];

/** Packages of Debian and its derivatives. */
export function aptPackages(system: System): PackageManager {
  const status = (): DpkgStatus =>
    system.memo("packages", () => parseDpkgStatus(system.read(statusFile) ?? ""));
  const apt = async (purpose: string, args: readonly string[]) => {
    await succeed(system, purpose, ["apt-get", ...quiet, ...args], {
      env: environment,
      timeoutMs: packageTimeoutMs,
    });
  };
  return {
    name: "apt",
    installed: async () => status().installed,
    providers: async (name) => status().providers.get(name) ?? [],
    leftovers: async () => status().leftovers,
    fits: fitsPattern,
    async newest(names, from) {
      const release = from === undefined ? [] : ["-t", from];
      const policy = ["apt-cache", "policy", ...release, ...names];
      const text = await succeed(system, "query package versions", policy, {
        outputLimit: listBytes,
      });
      return parsePolicy(text);
    },
    refreshedAt: () => system.modifiedAt("/var/lib/apt/lists/partial"),
    sourcesChangedAt() {
      const directory = "/etc/apt/sources.list.d";
      const files = system.list(directory).map((name) => `${directory}/${name}`);
      const times = ["/etc/apt/sources.list", directory, ...files].map(
        (path) => system.modifiedAt(path) ?? 0,
      );
      return Math.max(...times);
    },
    refresh: () => apt("refresh the lists of packages", ["update"]),
    install: (packages, { from, recommends, changesHeld } = {}) =>
      apt(`install ${namesOf(packages)}`, [
        ...(packages.some(({ version }) => version !== undefined) ? ["--allow-downgrades"] : []),
        ...(from === undefined ? [] : ["-t", from]),
        ...(recommends === undefined
          ? []
          : [recommends ? "--install-recommends" : "--no-install-recommends"]),
        ...(changesHeld === true ? ["--allow-change-held-packages"] : []),
        "install",
        ...packages.map(({ name, version }) => (version === undefined ? name : `${name}=${version}`)),
      ]),
    installFiles: (paths) => apt(`install ${paths.join(", ")}`, ["install", ...paths]),
    held: async () => status().held,
    async hold(names, isHeld) {
      const word = isHeld ? "hold" : "unhold";
      await succeed(system, `${word} ${names.join(", ")}`, ["apt-mark", "-q", word, ...names]);
    },
    remove: (names, purge) => apt(`remove ${names.join(", ")}`, [purge ? "purge" : "remove", ...names]),
    upgrade: () => apt("upgrade packages", ["dist-upgrade"]),
  };
}

/** Formats packages for messages. */
export function namesOf(packages: readonly WantedPackage[]): string {
  return packages
    .map(({ name, version }) => (version === undefined ? name : `${name} ${version}`))
    .join(", ");
}

/** Parses the output of `apt-cache policy`; up-to-date packages are left out. */
export function parsePolicy(text: string): Map<string, string> {
  const newest = new Map<string, string>();
  for (const [, name = "", installed, candidate = ""] of text.matchAll(
    /^(\S+):\n {2}Installed: (.*)\n {2}Candidate: (.*)$/gm,
  )) {
    if (candidate !== "(none)" && candidate !== installed) newest.set(name, candidate);
  }
  return newest;
}
