/** A package that is to be installed. */
export interface WantedPackage {
  name: string;
  /** Exact, or with `*` as a wildcard; the newest one there is when absent. */
  version?: string;
}

/** What is installed, by name. Of a package that may be there in several versions the newest is last. */
export type InstalledPackages = ReadonlyMap<string, readonly string[]>;

/** The program that installs packages on a host. */
export interface PackageManager {
  /** `apt`, `dnf`, `apk`. */
  readonly name: string;
  /** Everything that is installed; found out once in a run. */
  installed(): Promise<InstalledPackages>;
  /** The installed packages that stand in for a name that is no package, such as `mail-transport-agent`. */
  providers(name: string): Promise<readonly string[]>;
  /** Names of packages that were removed and left configuration behind. */
  leftovers(): Promise<ReadonlySet<string>>;
  /** Whether an installed version is what was asked for; `1.2*` and a version without its epoch are. */
  fits(wanted: string, installed: string): boolean;
  /**
   * The newest versions that the sources of packages offer, of those names they have: of an installed
   * package only when it is newer.
   */
  newest(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Milliseconds since 1970 of the last look at the sources; `undefined` when it keeps that to itself. */
  refreshedAt(): number | undefined;
  /** Looks at the sources of packages again. @throws SvcError with what the program said */
  refresh(): Promise<void>;
  /** Installs these, or brings them to these versions. @throws SvcError with what the program said */
  install(packages: readonly WantedPackage[]): Promise<void>;
  /** @param purge removes what it was configured with, too @throws SvcError with what the program said */
  remove(names: readonly string[], purge: boolean): Promise<void>;
  /** Brings everything that is installed to its newest version. @throws SvcError with what the program said */
  upgrade(): Promise<void>;
}

/** Downloading and unpacking take their time; a job that ends before ends it. */
export const packageTimeoutMs = 3_600_000;
/** Lists of every package there is. */
export const listBytes = 16 * 1024 * 1024;

/** What is wrong with the name of a package, which must not look like an option or a path. */
export function refusePackageName(name: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9+._:@-]*$/.test(name)) return undefined;
  return `${JSON.stringify(name.slice(0, 80))} is no name of a package`;
}

/** What is wrong with a version as an argument. */
export function refusePackageVersion(version: string): string | undefined {
  if (/^[<>=!]/.test(version)) {
    return `version: ${JSON.stringify(version.slice(0, 80))}: versions are not compared; give one, with * for any part, or latest`;
  }
  if (/^[A-Za-z0-9*][A-Za-z0-9+._:~^*-]*$/.test(version)) return undefined;
  return `version: ${JSON.stringify(version.slice(0, 80))} is no version of a package`;
}

/** Whether a version fits a wanted one, in which `*` stands for any text. */
export function fitsPattern(wanted: string, version: string): boolean {
  if (!wanted.includes("*")) return wanted === version;
  const parts = wanted.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(version);
}
