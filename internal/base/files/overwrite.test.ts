import { expect, test } from "bun:test";
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { overwrite } from "./overwrite.ts";

function write(path: string, text: string, mode: number | undefined): void {
  const file = openSync(path, "r+");
  try {
    overwrite(file, Buffer.from(text), { uid: undefined, gid: undefined, mode });
  } finally {
    closeSync(file);
  }
}

test.each(["", "short", "as long as before", "longer than what was there before"])(
  "a file becomes %j",
  (text) => {
    using directory = temporaryDirectory("overwrite");
    const path = join(directory.path, "file");
    writeFileSync(path, "as long as before");
    const { ino } = statSync(path);
    write(path, text, 0o600);
    expect(readFileSync(path, "utf8")).toBe(text);
    expect([statSync(path).ino, statSync(path).mode & 0o777]).toEqual([ino, 0o600]);
    expect(readdirSync(directory.path)).toEqual(["file"]);
  },
);

test("only a file is written", () => {
  expect(() => write("/dev/null", "text", undefined)).toThrow("not a regular file");
});
