import { endOf } from "../../../base/cut.ts";
import { SvcError } from "../../../base/errors.ts";
import { type System, succeed } from "../system.ts";
import { namesOf } from "./apt.ts";
import {
  fitsPattern,
  type InstalledPackages,
  listBytes,
  type PackageManager,
  packageTimeoutMs,
} from "./manager.ts";

const format = "%{NAME}\\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\n";
const none: readonly string[] = [];

/**
 * Packages of Red Hat and its derivatives.
 *
 * @param program `dnf`, or `yum` on older systems; both accept the same commands
 */
export function rpmPackages(system: System, program: "dnf" | "yum"): PackageManager {
  const installed = () =>
    system.memo("packages", async () => {
      const text = await succeed(system, "list packages", ["rpm", "-qa", "--queryformat", format], {
        outputLimit: listBytes,
      });
      return parseRpmList(text);
    });
  const only = (from: string | undefined) =>
    from === undefined ? [] : ["--disablerepo=*", `--enablerepo=${from}`];
  const change = async (purpose: string, args: readonly string[]) => {
    await succeed(system, purpose, [program, "-q", "-y", ...args], { timeoutMs: packageTimeoutMs });
  };
  return {
    name: program,
    installed,
    async providers(name) {
      const { code, stdout } = await system.run([
        "rpm",
        "-q",
        "--whatprovides",
        "--queryformat",
        "%{NAME}\\n",
        name,
      ]);
      return code === 0 ? [...new Set(stdout.split("\n").filter((line) => line !== ""))] : none;
    },
    leftovers: async () => new Set(),
    fits: fitsRpm,
    async newest(names, from) {
      const all = await installed();
      const [there, missing] = [
        names.filter((name) => all.has(name)),
        names.filter((name) => !all.has(name)),
      ];
      const updates =
        there.length === 0
          ? ""
          : await listed(system, [program, "-q", ...only(from), "check-update", ...there]);
      const offers =
        missing.length === 0
          ? ""
          : await listed(system, [program, "-q", ...only(from), "list", "available", ...missing]);
      return parseDnfList(`${updates}\n${offers}`, names);
    },
    // dnf and yum refresh outdated package lists themselves.
    refreshedAt: () => undefined,
    refresh: () => change("refresh the lists of packages", ["makecache"]),
    async install(packages, { from, recommends } = {}) {
      const all = await installed();
      const weak =
        recommends === undefined ? [] : [`--setopt=install_weak_deps=${recommends ? "True" : "False"}`];
      const how = [...only(from), ...weak];
      const named = packages.map(({ name, version }) =>
        version === undefined ? name : `${name}-${version}`,
      );
      const purpose = `install ${namesOf(packages)}`;
      // `install` reports "nothing to do" when an older version, or a newer one by name, is requested.
      const present = packages.some(({ name }) => all.has(name));
      await change(purpose, [...how, "install", ...named]);
      if (!present) return;
      const newer = packages.filter(({ name, version }) => version === undefined && all.has(name));
      if (newer.length > 0)
        await change(purpose, [...how, upgradeWord(program), ...newer.map(({ name }) => name)]);
      await downgrade(
        system,
        [program, "-q", "-y", ...how],
        packages.flatMap(({ name, version }) =>
          version === undefined || !all.has(name) ? [] : [{ name, version }],
        ),
      );
    },
    installFiles: (paths) => change(`install ${paths.join(", ")}`, ["install", ...paths]),
    remove: (names) => change(`remove ${names.join(", ")}`, ["remove", ...names]),
    upgrade: () => change("upgrade packages", [upgradeWord(program)]),
  };
}

function upgradeWord(program: string): string {
  return program === "yum" ? "update" : "upgrade";
}

/** Downgrades packages where `install` did not install the requested version. */
async function downgrade(
  system: System,
  command: readonly string[],
  packages: readonly { name: string; version: string }[],
): Promise<void> {
  for (const { name, version } of packages) {
    const text = await succeed(system, `query ${name}`, ["rpm", "-q", "--queryformat", format, name]);
    const versions = parseRpmList(text).get(name) ?? none;
    if (versions.some((each) => fitsRpm(version, each))) continue;
    await succeed(system, `install ${name} ${version}`, [...command, "downgrade", `${name}-${version}`], {
      timeoutMs: packageTimeoutMs,
    });
  }
}

/** Parses the output of `format`. A foreign package with the name of a native one is merged. */
export function parseRpmList(text: string): InstalledPackages {
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [name, version, architecture] = line.split("\t");
    // Signing keys of packages are listed as packages.
    if (!name || version === undefined || architecture === "(none)" || name === "gpg-pubkey") continue;
    const versions = found.get(name) ?? [];
    if (!versions.includes(version)) versions.push(version);
    found.set(name, versions);
  }
  return found;
}

/** `2:8.2.2637-20.el9` also matches `8.2.2637-20.el9`, `2:8.2.2637` and `8.2.2637`. */
function fitsRpm(wanted: string, version: string): boolean {
  const bare = version.replace(/^\d+:/, "");
  const forms = [version, bare, version.replace(/-[^-]*$/, ""), bare.replace(/-[^-]*$/, "")];
  return forms.some((form) => fitsPattern(wanted, form));
}

/** Both programs exit with 100 when updates are available, and with 1 when no package has the name. */
async function listed(system: System, argv: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await system.run(argv, {
    outputLimit: listBytes,
    timeoutMs: packageTimeoutMs,
  });
  if (code === 0 || code === 100) return stdout;
  if (code === 1 && /no match/i.test(stderr)) return "";
  throw new SvcError(
    "bad_request",
    `cannot list packages: ${argv[0]} exited with ${code}: ${endOf(stderr.trim(), 400)}`,
  );
}

/** Parses lines such as `nginx.x86_64  1:1.24.0-4.el9  appstream`, of these names. */
export function parseDnfList(text: string, names: readonly string[]): Map<string, string> {
  const newest = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [full = "", version, repository] = line.trim().split(/\s+/);
    if (version === undefined || repository === undefined) continue;
    const name = full.replace(/\.[^.]*$/, "");
    if (names.includes(name)) newest.set(name, version);
    else if (names.includes(full)) newest.set(full, version);
  }
  return newest;
}
