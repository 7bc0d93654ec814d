import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Binary, binaries } from "./compile.ts";
import { writeDeb } from "./deb.ts";
import { type Arch, describePackage, type Package } from "./package.ts";
import { findRpmbuild, writeRpm } from "./rpm.ts";
import { sourceTime } from "./source-time.ts";

// Writes the packages of one format, `deb` or `rpm`, and their checksums to dist/packages/<format>/. They
// contain the binaries of dist/release/, or with the second argument `own` the binaries of make build.
const [format = "", source = "release"] = process.argv.slice(2);
const dist = join(import.meta.dir, "..", "dist");
const directory = join(dist, "packages", format);

const archs = {
  x64: { deb: "amd64", rpm: "x86_64" },
  arm64: { deb: "arm64", rpm: "aarch64" },
} as const;
const manifest: { version: string } = JSON.parse(
  readFileSync(join(import.meta.dir, "..", "package.json"), "utf8"),
);
const time = sourceTime(process.env);
const write = writer();

rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const sums: string[] = [];
for (const [arch, path] of executables()) {
  for (const name of binaries) {
    const file = path(name);
    if (!existsSync(file)) throw new Error(`${file} does not exist; run make release first`);
    const made = await write(await describePackage(name, manifest.version, arch, readFileSync(file), time));
    await Bun.write(join(directory, made.name), made.data);
    sums.push(`${createHash("sha256").update(made.data).digest("hex")}  ${made.name}\n`);
    process.stdout.write(`built dist/packages/${format}/${made.name} (${made.data.length} bytes)\n`);
  }
}
await Bun.write(join(directory, "SHA256SUMS"), sums.join(""));

/** The architectures, and the paths of their binaries. A package cannot require a newer processor. */
function executables(): [Arch, (name: Binary) => string][] {
  if (source === "own") {
    const arch = process.arch === "x64" || process.arch === "arm64" ? archs[process.arch] : undefined;
    if (arch === undefined) throw new Error(`packages for ${process.arch} are not supported`);
    return [[arch, (name) => join(dist, name)]];
  }
  return [
    [archs.x64, (name) => join(dist, "release", `${name}-linux-x64-baseline`)],
    [archs.arm64, (name) => join(dist, "release", `${name}-linux-arm64`)],
  ];
}

function writer(): (contents: Package) => Promise<{ name: string; data: Uint8Array }> {
  if (format === "deb") {
    return async (contents) => ({
      name: `${contents.name}_${contents.version}_${contents.arch.deb}.deb`,
      data: writeDeb(contents, time),
    });
  }
  if (format !== "rpm") throw new Error(`unknown format ${JSON.stringify(format)}; expected deb or rpm`);
  const rpmbuild = findRpmbuild(process.env.PATH);
  return async (contents) => writeRpm(contents, time, rpmbuild);
}
