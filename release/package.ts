import { gzipSync } from "node:zlib";
import { completionScript } from "../internal/cli/completion/command.ts";
import { masterUnit, peelUnit } from "../internal/cli/setup/units.ts";
import { tree } from "../internal/cli/tree.ts";
import { formatExample } from "../internal/program/config/example.ts";
import { masterProgram } from "../internal/program/config/master.ts";
import { peelProgram } from "../internal/program/config/peel.ts";
import type { Binary } from "./compile.ts";
import { manualOf } from "./man/pages.ts";
import { debScripts, rpmScripts, type Service } from "./package-scripts.ts";

/** Names of one machine in the packages of both worlds. */
export interface Arch {
  deb: "amd64" | "arm64";
  rpm: "x86_64" | "aarch64";
}

/** A file of a package; its path has a slash first. */
interface PackageFile {
  path: string;
  mode: number;
  data: Uint8Array;
}

/** What a package is, apart from the format it is written in. */
export interface Package {
  name: Binary;
  version: string;
  arch: Arch;
  summary: string;
  /** Lines that say more, with no blank line among them. */
  description: readonly string[];
  depends: { deb: readonly string[]; rpm: readonly string[] };
  suggests: readonly string[];
  files: readonly PackageFile[];
  /** Where the two worlds keep a thing at different places. */
  placed: { deb: readonly PackageFile[]; rpm: readonly PackageFile[] };
  /** Maintainer scripts by the names that Debian gives them. */
  scripts: Readonly<Record<string, string>>;
  /** Scriptlets by the names that RPM gives them. */
  scriptlets: Readonly<Record<string, string>>;
}

// Of the symbols that the executables import, the newest is of glibc 2.17 (objdump -T).
const libc = { deb: "libc6 (>= 2.17)", rpm: "glibc >= 2.17" };
const dataDirectory = "/var/lib/svc";

/** The master is in the directory that `svc ca` takes by default; the peel, root, trusts nothing in there. */
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
    dataDir: `${dataDirectory}-peel`,
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
  "svc-master": ["Enrolls hosts, sends them signed jobs, and runs the bus between them if told to."],
  "svc-peel": ["Enrolls this host with a master and runs the jobs that the master has signed."],
  svc: ["Sets up a fleet, decides who may join it, and sends it jobs."],
};

/**
 * The package of one binary: the executable and its manual, for a daemon its unit and an example
 * configuration, for the command its completion.
 *
 * No file below /etc is in it. A peel that finds a configuration starts, so there must be none before
 * somebody wrote it; and one that was written before the package came must not raise a question.
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
  return {
    ...rest,
    depends: { deb: [libc.deb, "passwd"], rpm: [libc.rpm, "shadow-utils"] },
    suggests: name === "svc-master" ? ["nats-server", "git"] : [],
    files: [
      binary,
      text(`/usr/lib/systemd/system/${name}.service`, unitOf(service)),
      text(`/usr/share/doc/${name}/examples/${name.slice("svc-".length)}.yaml`, exampleOf(service)),
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
