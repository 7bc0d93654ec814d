import { join } from "node:path";
import { binaries, compileBinary } from "./compile.ts";

// Builds the binaries named on the command line for this machine, all of them by default, into dist/.
const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !binaries.some((binary) => binary === name));
if (unknown !== undefined) throw new Error(`no binary is named ${unknown}; there are ${binaries.join(", ")}`);

for (const binary of binaries) {
  if (wanted.length > 0 && !wanted.includes(binary)) continue;
  const outfile = join(import.meta.dir, "..", "dist", binary);
  await compileBinary(binary, outfile, { runtime: process.execPath });
  process.stdout.write(`built dist/${binary}\n`);
}
