import { expect, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { openDirectory } from "./opened-directory.ts";
import { overwrite } from "./overwrite.ts";
import { forgetOverwrite, isMixture, noteOverwrite, undoOverwrite, undoOverwriteOf } from "./unfinished.ts";

const stage = ".conf.0123456789ab";
const [long, short] = ["first\nsecond\nthird\n", "first\nthird\n"];

/** A file that is written in place until just before a step: what the end of the process then leaves. */
function interrupted(path: string, before: string, after: string, leave: string, mode = 0o600): void {
  writeFileSync(path, before, { mode: 0o644 });
  using directory = openDirectory(join(path, ".."));
  writeFileSync(join(path, "..", stage), after, { mode: 0o600 });
  noteOverwrite(directory, "conf", stage, Buffer.from(before), statSync(path));
  writeFileSync(path, leave);
  chmodSync(path, mode);
}

test.each([
  ["nothing of the new content", long, short, long],
  ["the new content in front of the end of the old one", long, short, `${short}${long.slice(short.length)}`],
  ["the beginning of the new content", short, long, long.slice(0, 15)],
  ["a restore that was interrupted, too", long, `${long.toUpperCase()}more`, "fiRST\nsecond\nthird\n"],
])("%s becomes the old content again", (_, before, after, leave) => {
  using dir = temporaryDirectory("unfinished");
  const path = join(dir.path, "conf");
  interrupted(path, before, after, leave);
  undoOverwriteOf(path);
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual([before, 0o644]);
  expect(readdirSync(dir.path)).toEqual(["conf"]);
  undoOverwriteOf(path);
  expect(readFileSync(path, "utf8")).toBe(before);
});

test.each([
  ["the new content", short],
  ["what someone wrote meanwhile", "another\n"],
  ["what someone added meanwhile", `${long}fourth\n`],
])("%s stays", (_, leave) => {
  using dir = temporaryDirectory("unfinished");
  const path = join(dir.path, "conf");
  interrupted(path, long, short, leave);
  undoOverwriteOf(path);
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual([leave, 0o600]);
  expect(readdirSync(dir.path)).toEqual(["conf"]);
});

test("a note that is not whole, or says something else, changes nothing", () => {
  using dir = temporaryDirectory("unfinished");
  const path = join(dir.path, "conf");
  const [note, torn] = [join(dir.path, ".conf.unfinished"), `${short}${long.slice(short.length)}`];
  interrupted(path, long, short, torn);
  const whole = readFileSync(note, "utf8");
  for (const text of [whole.slice(0, -1), whole.slice(0, 20), "", whole.replace(stage, "../other-file-0")]) {
    writeFileSync(note, text);
    undoOverwriteOf(path);
    expect(readFileSync(path, "utf8")).toBe(torn);
    expect(readdirSync(dir.path).sort()).toEqual([stage, "conf"]);
  }
});

test("where others can write, nothing is noted, and no note is followed", () => {
  using dir = temporaryDirectory("unfinished");
  const path = join(dir.path, "conf");
  const torn = `${short}${long.slice(short.length)}`;
  interrupted(path, long, short, torn);
  chmodSync(dir.path, 0o777);
  undoOverwriteOf(path);
  expect(readFileSync(path, "utf8")).toBe(torn);
  using directory = openDirectory(dir.path);
  linkSync(join(dir.path, ".conf.unfinished"), join(dir.path, ".other.unfinished"));
  noteOverwrite(directory, "new", stage, Buffer.from(long), statSync(path));
  expect(readdirSync(dir.path)).not.toContain(".new.unfinished");
});

test("a write in place that ends leaves no note", () => {
  using dir = temporaryDirectory("unfinished");
  const path = join(dir.path, "conf");
  writeFileSync(path, long, { mode: 0o644 });
  using directory = openDirectory(dir.path);
  const seen: string[][] = [];
  const file = openSync(path, "r+");
  try {
    overwrite(
      file,
      Buffer.from(short),
      { uid: undefined, gid: undefined, mode: 0o600 },
      {
        begin(before, stats) {
          noteOverwrite(directory, "conf", stage, before, stats);
          seen.push(readdirSync(dir.path).sort());
        },
        end: () => forgetOverwrite(directory, "conf"),
      },
    );
  } finally {
    closeSync(file);
  }
  undoOverwrite(directory, "conf");
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual([short, 0o600]);
  expect([seen, readdirSync(dir.path)]).toEqual([[[".conf.unfinished", "conf"]], ["conf"]]);
});

test("a mixture has each byte of the old content or of the new one, and is not the new one", () => {
  const is = (now: string, before: string, after: string) =>
    isMixture(Buffer.from(now), Buffer.from(before), Buffer.from(after));
  expect(is("ab", "ab", "cd")).toBe(true);
  expect(is("cb", "ab", "cd")).toBe(true);
  expect(is("cd", "ab", "cd")).toBe(false);
  expect(is("xb", "ab", "cd")).toBe(false);
  expect(is("c", "ab", "cd")).toBe(false);
  expect(is("cde", "ab", "cdef")).toBe(true);
  expect(is("cdefg", "ab", "cdef")).toBe(false);
  expect(is("", "", "a")).toBe(true);
});
