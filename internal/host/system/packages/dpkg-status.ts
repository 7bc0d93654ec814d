/** The package database of dpkg. */
export interface DpkgStatus {
  /** Versions by name; the name of a foreign package includes its architecture: `libc6:i386`. */
  installed: Map<string, string[]>;
  /** Removed packages with remaining configuration files. */
  leftovers: Set<string>;
  /** Packages that upgrades leave as they are. */
  held: Set<string>;
  /** Installed packages by the names they provide. */
  providers: Map<string, string[]>;
}

const field = /^(Package|Status|Version|Architecture|Provides): (.*)$/gm;

/**
 * Parses /var/lib/dpkg/status (deb822(5)), the file that `dpkg-query` reads. Reading it directly takes a
 * twentieth of the time.
 */
export function parseDpkgStatus(text: string): DpkgStatus {
  const found: DpkgStatus = {
    installed: new Map(),
    leftovers: new Set(),
    held: new Set(),
    providers: new Map(),
  };
  const entries: Map<string, string>[] = [];
  let entry = new Map<string, string>();
  for (const [, name = "", value = ""] of text.matchAll(field)) {
    if (name === "Package") {
      entry = new Map();
      entries.push(entry);
    }
    entry.set(name, value.trim());
  }
  // dpkg itself always has the native architecture.
  const native = entries.find((each) => each.get("Package") === "dpkg")?.get("Architecture");
  for (const each of entries) {
    const architecture = each.get("Architecture");
    const foreign = architecture !== undefined && architecture !== "all" && architecture !== native;
    const bare = each.get("Package") ?? "";
    const name = foreign && native !== undefined ? `${bare}:${architecture}` : bare;
    const [selected, , state] = each.get("Status")?.split(" ") ?? [];
    if (selected === "hold") found.held.add(name);
    if (state === "config-files") found.leftovers.add(name);
    if (state !== "installed" && state !== "triggers-pending" && state !== "triggers-awaited") continue;
    found.installed.set(name, [each.get("Version") ?? ""]);
    for (const provided of each.get("Provides")?.split(",") ?? []) {
      const [virtual = ""] = provided.trim().split(/[\s(:]/, 1);
      found.providers.set(virtual, [...(found.providers.get(virtual) ?? []), name]);
    }
  }
  return found;
}
