import { quote } from "../../../base/cut.ts";

/** A package to install. */
export interface WantedPackage {
  name: string;
  /** Exact, or with `*` as a wildcard; the newest available version when absent. */
  version?: string;
}

/** How packages are installed. */
export interface InstallOptions {
  /** A release of apt, such as `bookworm-backports`, or a repository of dnf: versions come from there. */
  from?: string;
  /** Whether packages that are recommended are installed as well; by default as the host is set up. */
  recommends?: boolean;
  /** Whether packages that are held may change. */
  changesHeld?: boolean;
}

/** Installed versions by name. Of several installed versions, the newest is last. */
export type InstalledPackages = ReadonlyMap<string, readonly string[]>;

/** The program that installs packages on a host. */
export interface PackageManager {
  /** `apt`, `dnf`, `apk`. */
  readonly name: string;
  /** All installed packages; queried once per run. */
  installed(): Promise<InstalledPackages>;
  /** The installed packages that provide a virtual package, such as `mail-transport-agent`. */
  providers(name: string): Promise<readonly string[]>;
  /** Names of removed packages with remaining configuration files. */
  leftovers(): Promise<ReadonlySet<string>>;
  /**
   * Whether an installed version matches the requested one, which may be a pattern such as `1.2*` or omit the
   * epoch.
   */
  fits(wanted: string, installed: string): boolean;
  /**
   * The newest available versions, of the names that the package sources have; of an installed package only a
   * newer version.
   *
   * @param from as in `InstallOptions`
   */
  newest(names: readonly string[], from?: string): Promise<ReadonlyMap<string, string>>;
  /**
   * Time of the last refresh of the package lists in milliseconds since the Unix epoch; `undefined` when
   * unknown.
   */
  refreshedAt(): number | undefined;
  /** Time of the last change of the package sources; absent where lists follow it by themselves. */
  sourcesChangedAt?(): number | undefined;
  /** Refreshes the package lists. @throws SvcError with the error output */
  refresh(): Promise<void>;
  /** Installs packages, or changes them to these versions. @throws SvcError with the error output */
  install(packages: readonly WantedPackage[], options?: InstallOptions): Promise<void>;
  /** The packages that are held, so that upgrades leave them; absent where it cannot hold any. */
  held?(): Promise<ReadonlySet<string>>;
  /** Holds packages, or lets them go. @throws SvcError with the error output */
  hold?(names: readonly string[], isHeld: boolean): Promise<void>;
  /** Installs package files of this host; absent where it cannot. @throws SvcError with the error output */
  installFiles?(paths: readonly string[]): Promise<void>;
  /** @param purge also removes configuration files @throws SvcError with the error output */
  remove(names: readonly string[], purge: boolean): Promise<void>;
  /** Upgrades all installed packages to their newest versions. @throws SvcError with the error output */
  upgrade(): Promise<void>;
}

/** Timeout of downloads and installations; the end of the job also ends them. */
export const packageTimeoutMs = 3_600_000;
/** Output limit for lists of all packages, in bytes. */
export const listBytes = 16 * 1024 * 1024;

/** The problem with a package name, if any. It must not look like an option or a path. */
export function refusePackageName(name: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9+._:@-]*$/.test(name)) return undefined;
  return `${quote(name)} is not a valid package name`;
}

/** Whether a name is one of Gentoo, such as `dev-vcs/git`: other package managers would read it as something else. */
export function hasCategory(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9+._-]*\/[A-Za-z0-9][A-Za-z0-9+._-]*$/.test(name);
}

/** The problem with a version argument, if any. */
export function refusePackageVersion(version: string): string | undefined {
  if (/^[<>=!]/.test(version)) {
    return `version: ${quote(version)}: comparisons are not supported; give a version, which may contain *, or latest`;
  }
  if (/^[A-Za-z0-9*][A-Za-z0-9+._:~^*-]*$/.test(version)) return undefined;
  return `version: ${quote(version)} is not a valid package version`;
}

/** The problem with the name of a release or repository to install from, if any. It must not look like an option. */
export function refuseSourceName(from: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9._:/+~=-]*$/.test(from)) return undefined;
  return `fromrepo: ${quote(from)} is not the name of a release or repository`;
}

/** Whether a version matches a pattern, in which `*` stands for any text. */
export function fitsPattern(wanted: string, version: string): boolean {
  if (!wanted.includes("*")) return wanted === version;
  const parts = wanted.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(version);
}
