import { type System, succeed } from "../system.ts";
import { namesOf } from "./apt.ts";
import { fitsPattern, listBytes, type PackageManager, packageTimeoutMs } from "./manager.ts";

/** Packages of Alpine. */
export function apkPackages(system: System): PackageManager {
  const database = () =>
    system.memo("packages", () => parseApkDatabase(system.read("/lib/apk/db/installed") ?? ""));
  const apk = async (purpose: string, args: readonly string[]) => {
    await succeed(system, purpose, ["apk", "--no-progress", ...args], { timeoutMs: packageTimeoutMs });
  };
  return {
    name: "apk",
    installed: async () => database().installed,
    providers: async (name) => database().providers.get(name) ?? [],
    leftovers: async () => new Set(),
    fits: fitsPattern,
    async newest(names) {
      const { installed } = database();
      const there = names.filter((name) => installed.has(name));
      if (there.length === 0) return new Map();
      const text = await succeed(system, "query package versions", ["apk", "version", "-l", "<", ...there], {
        outputLimit: listBytes,
      });
      return parseApkUpdates(text, there);
    },
    refreshedAt: () => {
      const indexes = system.list("/var/cache/apk").filter((name) => name.startsWith("APKINDEX."));
      const times = indexes.map((name) => system.modifiedAt(`/var/cache/apk/${name}`) ?? 0);
      return times.length === 0 ? 0 : Math.min(...times);
    },
    refresh: () => apk("refresh the lists of packages", ["update"]),
    // What apk installs with a package it does not recommend, but need.
    install: (packages, { from } = {}) =>
      apk(`install ${namesOf(packages)}`, [
        "add",
        "--upgrade",
        ...(from === undefined ? [] : ["--repository", from]),
        ...packages.map(({ name, version }) => {
          if (version === undefined) return name;
          // apk writes a wildcard at the end as ~.
          return version.endsWith("*") ? `${name}~${version.replace(/[.*]+$/, "")}` : `${name}=${version}`;
        }),
      ]),
    remove: (names, purge) =>
      apk(`remove ${names.join(", ")}`, ["del", ...(purge ? ["--purge"] : []), ...names]),
    upgrade: () => apk("upgrade packages", ["upgrade"]),
  };
}

/** Parses the database of apk: lines of a letter, a colon and a value; an empty line ends a package. */
function parseApkDatabase(text: string): {
  installed: Map<string, string[]>;
  providers: Map<string, string[]>;
} {
  const installed = new Map<string, string[]>();
  const providers = new Map<string, string[]>();
  let name = "";
  for (const [, letter, value = ""] of text.matchAll(/^([PVp]):(.*)$/gm)) {
    if (letter === "P") name = value;
    else if (letter === "V") installed.set(name, [value]);
    else {
      for (const provided of value.split(" ")) {
        const virtual = provided.replace(/[=<>~].*$/, "");
        providers.set(virtual, [...(providers.get(virtual) ?? []), name]);
      }
    }
  }
  return { installed, providers };
}

/** Parses the output of `apk version -l '<'` for these names: `busybox-1.36.1-r2  < 1.36.1-r5`. */
export function parseApkUpdates(text: string, names: readonly string[]): Map<string, string> {
  const newest = new Map<string, string>();
  for (const [, full = "", version = ""] of text.matchAll(/^(\S+)\s+<\s+(\S+)/gm)) {
    const name = full.replace(/-[^-]+-r\d+$/, "");
    if (names.includes(name)) newest.set(name, version);
  }
  return newest;
}
