import { join } from "node:path";
import { binaries, compileBinary } from "./compile.ts";

// Builds the binaries named on the command line (default: all) for this machine, into dist/.
const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !binaries.some((binary) => binary === name));
if (unknown !== undefined) throw new Error(`unknown binary ${unknown}; expected ${binaries.join(", ")}`);

for (const binary of binaries) {
  if (wanted.length > 0 && !wanted.includes(binary)) continue;
  const outfile = join(import.meta.dir, "..", "dist", binary);
  await compileBinary(binary, outfile, { runtime: process.execPath });
  process.stdout.write(`built dist/${binary}\n`);
}
