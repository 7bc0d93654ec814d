import { createHash } from "node:crypto";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../internal/base/defined.ts";
import { compileBinary } from "./compile.ts";
import { needsGlibc, readHeader } from "./header.ts";
import { fetchRuntime } from "./runtime.ts";
import { type CarriedServer, describeParts, type Lock } from "./sbom.ts";
import { sourceTime } from "./source-time.ts";
import { type Header, type Target, targets } from "./targets.ts";

// Builds every binary of every target into dist/release/, with a bill of materials and checksums. If a
// binary cannot be built, the run fails: a release is complete or does not exist. The arguments are paths of
// nats-servers, at most one per architecture, to embed into the masters of that architecture.
const directory = join(import.meta.dir, "..", "dist", "release");
rmSync(directory, { recursive: true, force: true });

const servers = new Map<string, string>();
for (const path of process.argv.slice(2)) {
  const machine = machineOf(readHeader(path));
  const other = servers.get(machine);
  if (other !== undefined) throw new Error(`${path} and ${other} are for the same machine, ${machine}`);
  servers.set(machine, path);
}

const sums: string[] = [];
for (const target of targets) {
  const runtime = fetchRuntime(target);
  for (const binary of target.binaries) {
    const name = `${binary}-${target.name}`;
    const outfile = join(directory, name);
    const natsServer = binary === "svc-master" ? serverFor(target) : undefined;
    await compileBinary(binary, outfile, {
      target: `bun-${target.name}`,
      runtime,
      ...defined({ natsServer }),
    });
    const header = readHeader(outfile);
    if (header.format !== target.header.format || header.machine !== target.header.machine) {
      throw new Error(`${name} is a ${header.format} file for ${header.machine}`);
    }
    sums.push(`${createHash("sha256").update(readFileSync(outfile)).digest("hex")}  ${name}\n`);
    const carries = natsServer === undefined ? "" : `, carries ${natsServer}`;
    process.stdout.write(`built dist/release/${name} (${statSync(outfile).size} bytes${carries})\n`);
  }
}
const lock: Lock = JSON.parse(readFileSync(join(import.meta.dir, "..", "package-lock.json"), "utf8"));
const carried = [...servers.values()].map(describeServer);
const parts = `${JSON.stringify(describeParts(lock, sourceTime(process.env), carried), null, 2)}\n`;
await Bun.write(join(directory, "sbom.cdx.json"), parts);
sums.push(`${createHash("sha256").update(parts).digest("hex")}  sbom.cdx.json\n`);
await Bun.write(join(directory, "SHA256SUMS"), sums.join(""));
process.stdout.write(`built dist/release/SHA256SUMS (${sums.length} files)\n`);

function describeServer(path: string): CarriedServer {
  return { version: versionOf(path), sha256: createHash("sha256").update(readFileSync(path)).digest("hex") };
}

/** A server for another machine cannot be asked here. */
function versionOf(path: string): string {
  try {
    const { stdout } = Bun.spawnSync([path, "--version"], { stderr: "ignore" });
    return /v(\d+\.\d+\.\d+)/.exec(stdout.toString())?.[1] ?? "unknown";
  } catch {
    return "unknown";
  }
}

function serverFor({ header, name }: Target): string | undefined {
  const path = servers.get(machineOf(header));
  return path !== undefined && name.endsWith("-musl") && needsGlibc(path) ? undefined : path;
}

function machineOf({ format, machine }: Header): string {
  return `${format} ${machine}`;
}
