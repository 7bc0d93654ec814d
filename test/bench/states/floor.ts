import { createHash } from "node:crypto";
import { closeSync, fchmodSync, lstatSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";

// What the same files cost without an engine, in one process: to look at each is lstat, read and sha256; to
// make each is to read its source, write another name and rename.
//
//   bun test/bench/states/floor.ts look|make DIRECTORY COUNT [SOURCES]

const [mode = "", directory = "", count = "0", sources = ""] = process.argv.slice(2);
for (let at = 0; at < Number(count); at++) {
  const path = join(directory, `f${at}.conf`);
  if (mode === "look") {
    lstatSync(path);
    createHash("sha256").update(readFileSync(path)).digest("hex");
    continue;
  }
  const data = readFileSync(join(sources, `f${at}.conf`));
  const file = openSync(`${path}.new`, "wx", 0o600);
  writeSync(file, data);
  fchmodSync(file, 0o644);
  closeSync(file);
  renameSync(`${path}.new`, path);
}
