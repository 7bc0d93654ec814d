import { createHash } from "node:crypto";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { compileBinary } from "./compile.ts";
import { readHeader } from "./header.ts";
import { fetchRuntime } from "./runtime.ts";
import { targets } from "./targets.ts";

// Builds every binary of every target into dist/release/, with their checksums. One that cannot be
// built ends the run: a release is whole or there is none.
const directory = join(import.meta.dir, "..", "dist", "release");
rmSync(directory, { recursive: true, force: true });

const sums: string[] = [];
for (const target of targets) {
  const runtime = fetchRuntime(target);
  for (const binary of target.binaries) {
    const name = `${binary}-${target.name}`;
    const outfile = join(directory, name);
    await compileBinary(binary, outfile, { target: `bun-${target.name}`, runtime });
    const header = readHeader(outfile);
    if (header.format !== target.header.format || header.machine !== target.header.machine) {
      throw new Error(`${name} is a ${header.format} file for ${header.machine}`);
    }
    sums.push(`${createHash("sha256").update(readFileSync(outfile)).digest("hex")}  ${name}\n`);
    process.stdout.write(`built dist/release/${name} (${statSync(outfile).size} bytes)\n`);
  }
}
await Bun.write(join(directory, "SHA256SUMS"), sums.join(""));
process.stdout.write(`built dist/release/SHA256SUMS (${sums.length} files)\n`);
