import { rmSync } from "node:fs";
import { join } from "node:path";
import { version } from "../internal/base/version.ts";
import { binaries } from "./compile.ts";
import { manualOf } from "./man/pages.ts";
import { sourceTime } from "./source-time.ts";

// Writes the manual pages to dist/man/man<section>/, where man -M dist/man finds them.
const directory = join(import.meta.dir, "..", "dist", "man");
const date = new Date(sourceTime(process.env) * 1_000).toISOString().slice(0, 10);
rmSync(directory, { recursive: true, force: true });
let count = 0;
for (const binary of binaries) {
  for (const { name, section, text } of await manualOf[binary]({ version, date })) {
    await Bun.write(join(directory, `man${section}`, `${name}.${section}`), text);
    count++;
  }
}
process.stdout.write(`wrote ${count} pages to dist/man\n`);
