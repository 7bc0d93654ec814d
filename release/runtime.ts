import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Target } from "./targets.ts";

const root = join(import.meta.dir, "..");

/**
 * The Bun executable of a target: fetched once by npm, from its configured registry, and unpacked in .tools/
 * only if the package has the digest that this repository pins.
 *
 * @returns path of the executable
 * @throws Error when the package cannot be fetched or has another digest
 */
export function fetchRuntime(target: Target): string {
  const directory = join(root, ".tools", "runtimes", `${target.name}-${Bun.version}`);
  const executable = join(directory, "bun");
  if (existsSync(executable)) return executable;

  const downloads = join(root, ".tools", "runtimes", `.${target.name}-${process.pid}`);
  mkdirSync(downloads, { recursive: true });
  try {
    const archive = join(downloads, packPackage(`${target.runtime}@${Bun.version}`, downloads));
    const found = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
    const wanted = target.integrity ?? lockedIntegrity(target.runtime);
    if (found !== wanted) throw new Error(`${target.runtime} has the digest ${found}, wanted ${wanted}`);
    run(["tar", "-xzf", archive, "-C", downloads, "package/bin/bun"]);
    mkdirSync(directory, { recursive: true });
    renameSync(join(downloads, "package", "bin", "bun"), executable);
  } finally {
    rmSync(downloads, { recursive: true, force: true });
  }
  return executable;
}

function packPackage(specifier: string, destination: string): string {
  const command = ["npm", "pack", specifier, "--json", "--ignore-scripts", "--pack-destination", destination];
  const packed: unknown = JSON.parse(run(command));
  const first: unknown = Array.isArray(packed) ? packed[0] : undefined;
  if (typeof first === "object" && first !== null && "filename" in first) return String(first.filename);
  throw new Error(`npm pack ${specifier} did not report a file`);
}

function lockedIntegrity(name: string): string {
  const lock: { packages: Record<string, { version?: string; integrity?: string }> } = JSON.parse(
    readFileSync(join(root, "package-lock.json"), "utf8"),
  );
  const entry = lock.packages[`node_modules/${name}`];
  if (entry?.version === Bun.version && entry.integrity !== undefined) return entry.integrity;
  throw new Error(`package-lock.json does not pin ${name} ${Bun.version}`);
}

function run(command: string[]): string {
  const done = Bun.spawnSync(command, { cwd: root, stdin: "ignore", stderr: "pipe" });
  if (done.exitCode === 0) return done.stdout.toString();
  throw new Error(`${command.join(" ")} failed: ${done.stderr.toString().trim()}`);
}
