import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Package } from "./package.ts";

const unpacked = join(import.meta.dir, "..", ".tools", "rpm", "usr");

/** The rpmbuild to use, and its environment. */
export interface Rpmbuild {
  program: string;
  env: Record<string, string>;
}

/**
 * The machine's own rpmbuild, else the one that `release/install-rpmbuild.sh` unpacked.
 *
 * @throws Error when there is none
 */
export function findRpmbuild(path: string | undefined): Rpmbuild {
  const own = Bun.which("rpmbuild", { PATH: path ?? "" });
  if (own !== null) return { program: own, env: {} };
  const program = join(unpacked, "bin", "rpmbuild");
  const library = readdirSync(join(unpacked, "lib")).find((name) => name.endsWith("-linux-gnu"));
  if (library === undefined)
    throw new Error("no rpmbuild here; install the package rpm-build, or rpm on Debian");
  return {
    program,
    env: { LD_LIBRARY_PATH: join(unpacked, "lib", library), RPM_CONFIGDIR: join(unpacked, "lib", "rpm") },
  };
}

/**
 * Writes a package with rpmbuild. On the machine, it depends only on the version of rpmbuild.
 *
 * @param time of every file, in seconds since 1970
 * @throws Error with the output of rpmbuild
 */
export function writeRpm(
  contents: Package,
  time: number,
  rpmbuild: Rpmbuild,
): { name: string; data: Uint8Array } {
  const top = mkdtempSync(join(tmpdir(), "svc-rpm-"));
  try {
    for (const { path, mode, data } of filesOf(contents)) {
      const file = join(top, "files", path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, data);
      chmodSync(file, mode);
    }
    writeFileSync(join(top, "package.spec"), specOf(contents, top));
    const done = Bun.spawnSync(
      [rpmbuild.program, "-bb", "--target", `${contents.arch.rpm}-linux`, join(top, "package.spec")],
      {
        env: { ...process.env, ...rpmbuild.env, SOURCE_DATE_EPOCH: String(time) },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    if (!done.success) throw new Error(`rpmbuild of ${contents.name} failed:\n${done.stderr.toString()}`);
    const made = new Bun.Glob("out/**/*.rpm").scanSync({ cwd: top }).next().value;
    if (made === undefined) throw new Error(`rpmbuild of ${contents.name} did not write a package`);
    return { name: basename(made), data: readFileSync(join(top, made)) };
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
}

function filesOf({ files, placed }: Package): Package["files"] {
  return [...files, ...placed.rpm];
}

/** The macros turn off machine-dependent steps, and stripping, which would break the executables. */
function specOf(contents: Package, top: string): string {
  const { name, version, summary, description, depends, scriptlets } = contents;
  return `%global debug_package %{nil}
%global __os_install_post %{nil}
%global _build_id_links none
%global _topdir ${top}
%global _rpmdir ${top}/out
%global _binary_payload w6.gzdio
%global _buildhost localhost
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
Name: ${name}
Version: ${version}
Release: 1
Summary: ${summary}
License: Apache-2.0
AutoReqProv: no
${depends.rpm.map((one) => `Requires: ${one}\nRequires(post): ${one}\n`).join("")}
%description
${description.join("\n")}

%install
mkdir -p %{buildroot}
cp -a ${top}/files/. %{buildroot}/

%files
%defattr(-, root, root)
${filesOf(contents)
  .map(({ path }) => path)
  .join("\n")}
${Object.entries(scriptlets)
  .map(([when, body]) => `\n%${when}\n${body.replaceAll("%", "%%")}`)
  .join("")}`;
}
