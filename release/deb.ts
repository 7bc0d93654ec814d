import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { Package } from "./package.ts";
import { type Member, writeTar } from "./tar.ts";

/**
 * Writes a Debian package (deb(5), deb-control(5)): an ar archive of the format's version, the control
 * files and the files. It does not use tools of the machine, so that the bytes are the same everywhere.
 *
 * @param time of every member, in seconds since 1970
 */
export function writeDeb(contents: Package, time: number): Uint8Array {
  const own = [...contents.files, ...contents.placed.deb];
  const files = own.map(({ path, mode, data }): Member => ({ path: `.${path}`, mode, data }));
  const scripts = Object.entries(contents.scripts).map(
    ([name, text]): Member => ({ path: `./${name}`, mode: 0o755, data: Buffer.from(text) }),
  );
  const control = [
    member("./control", controlFile(contents, own)),
    member("./md5sums", own.map(({ path, data }) => `${md5(data)}  ${path.slice(1)}\n`).join("")),
    ...scripts,
  ];
  return ar(
    [
      ["debian-binary", Buffer.from("2.0\n")],
      ["control.tar.gz", pack([directory("./"), ...control], time)],
      ["data.tar.gz", pack([...directoriesOf(files), ...files], time)],
    ],
    time,
  );
}

function controlFile(
  { name, version, arch, depends, suggests, summary, description }: Package,
  files: Package["files"],
): string {
  const size = files.reduce((sum, { data }) => sum + data.length, 0);
  return [
    `Package: ${name}`,
    `Version: ${version}`,
    `Architecture: ${arch.deb}`,
    "Maintainer: The svc project <svc@localhost>",
    `Installed-Size: ${Math.ceil(size / 1024)}`,
    `Depends: ${depends.deb.join(", ")}`,
    ...(suggests.length === 0 ? [] : [`Suggests: ${suggests.join(", ")}`]),
    "Section: admin",
    "Priority: optional",
    `Description: ${summary}`,
    ...description.map((line) => ` ${line}`),
    "",
  ].join("\n");
}

/** All parent directories of the files, outer directories first. */
function directoriesOf(files: readonly Member[]): Member[] {
  const paths = files.flatMap(({ path }) => {
    const names = path.split("/").slice(0, -1);
    return names.map((_, index) => `${names.slice(0, index + 1).join("/")}/`);
  });
  return [...new Set(paths)].sort().map(directory);
}

function directory(path: string): Member {
  return { path, mode: 0o755, data: new Uint8Array() };
}

function member(path: string, text: string): Member {
  return { path, mode: 0o644, data: Buffer.from(text) };
}

function pack(members: readonly Member[], time: number): Uint8Array {
  return gzipSync(writeTar(members, time));
}

function ar(members: readonly [string, Uint8Array][], time: number): Uint8Array {
  const parts = members.flatMap(([name, data]) => [
    Buffer.from(
      `${name.padEnd(16)}${String(time).padEnd(12)}${"0".padEnd(6)}${"0".padEnd(6)}${"100644".padEnd(8)}${String(data.length).padEnd(10)}\`\n`,
    ),
    data,
    Buffer.from(data.length % 2 === 0 ? "" : "\n"),
  ]);
  return Buffer.concat([Buffer.from("!<arch>\n"), ...parts]);
}

/** The format has no other checksum. It detects damage, not attacks. */
function md5(data: Uint8Array): string {
  return createHash("md5").update(data).digest("hex");
}
