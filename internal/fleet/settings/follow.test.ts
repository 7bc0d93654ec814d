import { expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { readTree, type SettingsTree } from "../../tree/settings/tree.ts";
import { followTree } from "./follow.ts";

const paths = (directory: string) => [...readTree(directory).files.keys()].sort();

test("a tree contains all files below, with links followed, without hidden and backup files", () => {
  using directory = temporaryDirectory("settings");
  const at = (path: string) => join(directory.path, path);
  for (const below of ["web", ".git", "..data"]) mkdirSync(at(below));
  for (const path of [
    "top.sls",
    "web/init.sls",
    ".git/config",
    "..data/linked.sls",
    "a.sls~",
    ".a.sls.swp",
  ]) {
    writeFileSync(at(path), path);
  }
  symlinkSync("..data/linked.sls", at("linked.sls"));
  symlinkSync(".", at("web/around"));
  symlinkSync("nowhere", at("dangling.sls"));
  expect(paths(directory.path)).toEqual(["linked.sls", "top.sls", "web/init.sls"]);
  expect(paths(at("none"))).toEqual([]);
  expect(paths(at("top.sls"))).toEqual([]);
});

test("an unusable file is an error where it is used", () => {
  using directory = temporaryDirectory("settings");
  writeFileSync(join(directory.path, "binary.sls"), Buffer.of(0xff, 0xfe));
  writeFileSync(join(directory.path, "large.sls"), "x".repeat(1024 * 1024 + 1));
  const { files } = readTree(directory.path);
  expect(files.get("binary.sls")?.problem).toBe("it is not UTF-8 text");
  expect(files.get("large.sls")?.problem).toBe("it is larger than 1 MiB");
});

test("changes are reported by path, and an unchanged file is not reported", () => {
  using directory = temporaryDirectory("settings");
  const at = (path: string) => join(directory.path, path);
  writeFileSync(at("a.sls"), "1");
  writeFileSync(at("b.sls"), "1");
  const followed = followTree({ directory: directory.path, clock: manualClock(), log: recordingLog() });
  const reported: string[][] = [];
  followed.onChange((changed) => reported.push([...changed].sort()));
  const scanned = () => {
    followed.scan();
    return reported.pop();
  };
  expect(scanned()).toBeUndefined();
  writeFileSync(at("new"), "1");
  renameSync(at("new"), at("a.sls"));
  expect(scanned()).toBeUndefined();
  writeFileSync(at("a.sls"), "22");
  writeFileSync(at("c.sls"), "1");
  rmSync(at("b.sls"));
  expect(scanned()).toEqual(["a.sls", "b.sls", "c.sls"]);
  followed.stop();
});

test("a change is noticed automatically, also in a new directory", async () => {
  using directory = temporaryDirectory("settings");
  const followed = followTree({ directory: directory.path, clock: systemClock, log: recordingLog() });
  const next = () =>
    new Promise<string[]>((resolve) => {
      const stop = followed.onChange((changed) => {
        stop();
        resolve([...changed]);
      });
    });
  const first = next();
  writeFileSync(join(directory.path, "top.sls"), "1");
  expect(await first).toEqual(["top.sls"]);
  const second = next();
  mkdirSync(join(directory.path, "web"));
  writeFileSync(join(directory.path, "web/init.sls"), "1");
  expect(await second).toEqual(["web/init.sls"]);
  followed.stop();
});

test("a directory that is created later or replaced is found by polling", () => {
  using directory = temporaryDirectory("settings");
  const at = (path: string) => join(directory.path, path);
  const clock = manualClock();
  const followed = followTree({ directory: at("current"), clock, log: recordingLog() });
  expect(followed.tree.files.size).toBe(0);
  for (const release of ["1", "2"]) {
    mkdirSync(at(release));
    writeFileSync(join(at(release), "top.sls"), release);
    symlinkSync(release, at("next"));
    renameSync(at("next"), at("current"));
    clock.advance(30_000);
    expect(followed.tree.files.get("top.sls")?.text).toBe(release);
  }
  followed.stop();
  expect(clock.pending).toBe(0);
});

test("a tree that is refused leaves the last good one in force, until it is mended", async () => {
  using directory = temporaryDirectory("settings");
  const file = join(directory.path, "a.sls");
  writeFileSync(file, "good");
  const check = async ({ files }: SettingsTree) =>
    files.get("a.sls")?.text?.includes("bad") === true ? "a.sls:1:1: bad" : undefined;
  const log = recordingLog();
  const followed = followTree({ directory: directory.path, check, clock: manualClock(), log });
  let changes = 0;
  followed.onChange(() => changes++);
  const become = async (text: string) => {
    writeFileSync(file, text);
    followed.scan();
    followed.scan();
    await followed.checked;
    return [followed.tree.files.get("a.sls")?.text, followed.problem, changes];
  };
  expect(followed.tree.files.size).toBe(0);
  await followed.checked;
  expect(followed.tree.files.size).toBe(1);
  expect(await become("bad")).toEqual(["good", "a.sls:1:1: bad", 1]);
  expect(await become("bad, longer")).toEqual(["good", "a.sls:1:1: bad", 1]);
  expect(await become("good")).toEqual(["good", undefined, 1]);
  expect(await become("good again")).toEqual(["good again", undefined, 2]);
});

test("of trees that follow each other, only the newest is checked to its end", async () => {
  using directory = temporaryDirectory("settings");
  const file = join(directory.path, "a.sls");
  const checked: (string | undefined)[] = [];
  const check = async ({ files }: SettingsTree) => {
    checked.push(files.get("a.sls")?.text);
    return undefined;
  };
  const followed = followTree({
    directory: directory.path,
    check,
    clock: manualClock(),
    log: recordingLog(),
  });
  for (const text of ["1", "22", "333"]) {
    writeFileSync(file, text);
    followed.scan();
  }
  await followed.checked;
  expect([checked, followed.tree.files.get("a.sls")?.text]).toEqual([["333"], "333"]);
});
