import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { onFullDisk } from "../../../test/harness/small-disk.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { createKeptFile } from "./kept-file.ts";

const main = join(import.meta.dir, "../../../test/harness/kept-file-main.ts");

test("on a full disk the file stays as it was, and is written when there is room", async () => {
  using dir = temporaryDirectory("kept");
  const [disk, from] = [join(dir.path, "disk"), join(dir.path, "from")];
  for (const each of [disk, from]) mkdirSync(each);
  writeFileSync(join(from, "values"), "old");
  const script = '"$0" "$1" "$dir/values" "$filler"';
  const run = Bun.spawn([...onFullDisk(disk, from), script, process.execPath, main], { stderr: "inherit" });
  const found = JSON.parse(await new Response(run.stdout).text());
  const full = {
    problem: expect.stringMatching(
      /^the values cannot be written to .*\/values: .*(ENOSPC|no space).*free space/i,
    ),
    holds: "old",
    files: ["values"],
  };
  expect(found).toEqual({ full, still: full, freed: { problem: "", holds: "newest", files: ["values"] } });
});

test("a failure is reported once, and so is its end", () => {
  using dir = temporaryDirectory("kept");
  const home = join(dir.path, "home");
  const path = join(home, "values");
  const log = recordingLog();
  const file = createKeptFile({ path, holds: "the values", render: () => "text", log });
  for (let i = 0; i < 3; i++) file.save();
  mkdirSync(home);
  for (let i = 0; i < 2; i++) file.retry();
  expect(log.records.map(({ event, level }) => [level, event])).toEqual([
    ["error", "the values are kept in memory only"],
    ["info", "the values are on disk again"],
  ]);
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["text", 0o600]);
  rmSync(path);
  file.retry();
  expect(readdirSync(home)).toEqual([]);
});
