import { gzipSync } from "node:zlib";
import { completionScript, tree } from "../internal/cli/mod.ts";
import { joinDropIn, masterUnit, peelUnit } from "../internal/cli/setup/mod.ts";
import {
  formatExample,
  masterProgram,
  packagedPeelDataDir,
  peelProgram,
} from "../internal/program/config/mod.ts";
import type { Binary } from "./compile.ts";
import { manualOf } from "./man/pages.ts";
import { debScripts, rpmScripts, type Service } from "./package-scripts.ts";

/** Names of an architecture in Debian and RPM packages. */
export interface Arch {
  deb: "amd64" | "arm64";
  rpm: "x86_64" | "aarch64";
}

/** A file of a package, with an absolute path. */
interface PackageFile {
  path: string;
  mode: number;
  data: Uint8Array;
}

/** The content of a package, independent of its format. */
export interface Package {
  name: Binary;
  version: string;
  arch: Arch;
  summary: string;
  /** The long description, without blank lines. */
  description: readonly string[];
  depends: { deb: readonly string[]; rpm: readonly string[] };
  suggests: readonly string[];
  files: readonly PackageFile[];
  /** Files with different paths in Debian and RPM packages. */
  placed: { deb: readonly PackageFile[]; rpm: readonly PackageFile[] };
  /** Maintainer scripts by their Debian names. */
  scripts: Readonly<Record<string, string>>;
  /** Scriptlets by their RPM names. */
  scriptlets: Readonly<Record<string, string>>;
}

// The newest symbol that the executables import is from glibc 2.17 (objdump -T).
const libc = { deb: "libc6 (>= 2.17)", rpm: "glibc >= 2.17" };
const dataDirectory = "/var/lib/svc";

/** The master uses the default directory of `svc ca`. The peel runs as root and trusts nothing in it. */
const services: Record<Exclude<Binary, "svc">, Service> = {
  "svc-master": {
    name: "svc-master",
    config: "/etc/svc/master.yaml",
    dataDir: dataDirectory,
    user: "svc-master",
    enabled: false,
  },
  "svc-peel": {
    name: "svc-peel",
    config: "/etc/svc/peel.yaml",
    dataDir: packagedPeelDataDir,
    user: "root",
    enabled: true,
  },
};

const summaries: Record<Binary, string> = {
  "svc-master": "fleet manager over NATS: the master",
  "svc-peel": "fleet manager over NATS: the managed host",
  svc: "fleet manager over NATS: the operator's command",
};

const descriptions: Record<Binary, readonly string[]> = {
  "svc-master": ["Enrolls hosts, sends them signed jobs, and optionally runs the bus between them."],
  "svc-peel": ["Enrolls this host with a master and runs the jobs that the master has signed."],
  svc: ["Sets up a fleet, decides who may join it, and sends it jobs."],
};

/**
 * The package of one binary: the executable and its manual; for a daemon, its unit and an example
 * configuration; for the command, its completion scripts.
 *
 * It does not contain files in /etc. A peel with a configuration starts, so the package must not install one.
 * And a configuration that exists before the installation must not lead to a conflict prompt.
 *
 * @param executable the binary of that machine
 * @param time of the manual, in seconds since 1970
 */
export async function describePackage(
  name: Binary,
  version: string,
  arch: Arch,
  executable: Uint8Array,
  time: number,
): Promise<Package> {
  const binary = { path: `/usr/bin/${name}`, mode: 0o755, data: executable };
  const rest = { name, version, arch, summary: summaries[name], description: descriptions[name] };
  const manual = await manualFiles(name, version, time);
  if (name === "svc") {
    return {
      ...rest,
      depends: { deb: [libc.deb], rpm: [libc.rpm] },
      suggests: [],
      files: [
        binary,
        text("/usr/share/bash-completion/completions/svc", await completionScript(tree, "bash")),
        text("/usr/share/fish/vendor_completions.d/svc.fish", await completionScript(tree, "fish")),
        ...manual,
      ],
      placed: {
        deb: [text("/usr/share/zsh/vendor-completions/_svc", await completionScript(tree, "zsh"))],
        rpm: [text("/usr/share/zsh/site-functions/_svc", await completionScript(tree, "zsh"))],
      },
      scripts: {},
      scriptlets: {},
    };
  }
  const service = services[name];
  const dropIn = joinDropIn({ program: binary.path, token: "/etc/svc/join-token" });
  return {
    ...rest,
    depends: { deb: [libc.deb, "passwd"], rpm: [libc.rpm, "shadow-utils"] },
    suggests: name === "svc-master" ? ["nats-server", "git"] : [],
    files: [
      binary,
      text(`/usr/lib/systemd/system/${name}.service`, unitOf(service)),
      text(`/usr/share/doc/${name}/examples/${name.slice("svc-".length)}.yaml`, exampleOf(service)),
      ...(name === "svc-peel" ? [text(`/usr/share/doc/${name}/examples/join.conf`, dropIn)] : []),
      ...manual,
    ],
    placed: { deb: [], rpm: [] },
    scripts: debScripts(service),
    scriptlets: rpmScripts(service),
  };
}

async function manualFiles(name: Binary, version: string, time: number): Promise<PackageFile[]> {
  const date = new Date(time * 1_000).toISOString().slice(0, 10);
  return (await manualOf[name]({ version, date })).map((page) => ({
    path: `/usr/share/man/man${page.section}/${page.name}.${page.section}.gz`,
    mode: 0o644,
    data: gzipSync(page.text, { level: 9 }),
  }));
}

function unitOf({ name, config, dataDir, user }: Service): string {
  const options = { program: `/usr/bin/${name}`, config, dataDir, author: `the package ${name}` };
  return name === "svc-master" ? masterUnit({ ...options, user }) : peelUnit(options);
}

function exampleOf({ name, dataDir }: Service): string {
  return formatExample(name === "svc-master" ? masterProgram : peelProgram, dataDir);
}

function text(path: string, content: string): PackageFile {
  return { path, mode: 0o644, data: Buffer.from(content) };
}
