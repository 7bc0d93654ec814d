import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { svc as run } from "../../../test/harness/svc.ts";
import { childrenOf, metaOf } from "../../program/command-line/command.ts";
import { tree } from "../tree.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-completion-"));
afterAll(() => rmSync(dir, { recursive: true }));

const completion = (shell: string) => run(["completion", shell]);

describe("bash", () => {
  const file = join(dir, "svc.bash");
  beforeAll(async () => writeFileSync(file, (await completion("bash")).stdout));

  /** What bash offers for the last word of a command line. */
  function offered(...words: string[]): string[] {
    const env = { PATH: "/usr/bin:/bin" };
    const script = `source ${file}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr, exitCode } = Bun.spawnSync(["bash", "-uc", script, "bash", "svc", ...words], {
      env,
    });
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    return stdout.toString().split("\n").filter(Boolean);
  }

  test("knows every command, and nothing else", async () => {
    const walk = async (place: typeof tree, path: string[]): Promise<void> => {
      const shown = path.join() === "help" ? tree : place;
      const names = ((await childrenOf(shown)) ?? [])
        .map((child) => metaOf(child).name)
        .filter((name) => shown === place || name !== "help");
      expect(offered(...path, "").filter((word) => !word.startsWith("--"))).toEqual(names);
      if (shown === place) expect(offered(...path, "--")).toContain("--output");
      for (const child of (await childrenOf(place)) ?? []) await walk(child, [...path, metaOf(child).name]);
    };
    await walk(tree, []);
  });

  test.each([
    [["jo"], ["job"]],
    [["job", "c"], ["cancel"]],
    [
      ["job", "cancel", "--w"],
      ["--wait", "--wide"],
    ],
    [
      ["job", "list", "--status", ""],
      ["running", "completed", "failed", "cancelled"],
    ],
    [
      ["enroll", "list", "--state", "a"],
      ["approved", "active", "all"],
    ],
    [["--output", "y"], ["yaml"]],
    [["--output", "json", "job", "li"], ["list"]],
    [
      ["run", "web-*", "test.ping", "--ba"],
      ["--batch", "--batch-wait"],
    ],
    [["run", "job", "--pre"], ["--preview"]],
    [["ca", "init", "--dir", ""], []],
    [["job", "list", "--wait"], []],
    [["nothing", "--out"], ["--output"]],
    [
      ["job", "list", "--status", "=", "c"],
      ["completed", "cancelled"],
    ],
    [["job", "list", "--output", "=", "json", "--lim"], ["--limit"]],
    // What ids there are is not known here: no svc is on the PATH.
    [["enroll", "approve", ""], []],
    [["enroll", "approve", "--fo"], ["--force"]],
    [["help", "job", "l"], ["list"]],
    [["help", "help"], []],
    [["help", "job", "--"], []],
  ])("%p", (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });
});

test.each(["zsh", "fish"])("%s names every command with its description", async (shell) => {
  const { exit, stdout } = await completion(shell);
  expect(exit).toBe(0);
  for (const text of [
    "Cancel a job. Peels that have not started",
    "Approve pending enrollments",
    "--no-color",
    "renew-root",
  ]) {
    expect(stdout).toContain(shell === "fish" ? text.replace("--no-color", "-l no-color") : text);
  }
});

test("another shell is named in the refusal", async () => {
  expect(await completion("fisch")).toEqual({
    exit: 2,
    stdout: "",
    stderr: 'svc: <shell> is bash, zsh, fish, not "fisch" (did you mean fish?)\n',
  });
});

test("functions are offered without a bus", async () => {
  const { stdout, exit } = await run(["__ids", "functions", "file.get_"]);
  expect([exit, stdout.split("\n")[0]]).toEqual([
    0,
    "file.get_hash\tReturns the digest of a regular file in hexadecimal.",
  ]);
  expect((await run(["__ids", "functions", "grains.it"])).stdout).toStartWith("grains.items\t");
});

test("columns are offered one after the other, and none twice", async () => {
  const offers = async (prefix: string) =>
    (await run(["__ids", "columns", prefix])).stdout.split("\n").map((line) => line.split("\t")[0]);
  expect(await offers("addr")).toEqual(["address", ""]);
  expect(await offers("id,os,la")).toContain("id,os,labels");
  expect(await offers("id,os,")).not.toContain("id,os,id");
});

test("arguments of a function are offered, and the few values that they can have", async () => {
  const offers = async (prefix: string, name: string) =>
    (await run(["__ids", "arguments", prefix, "", name])).stdout
      .split("\n")
      .map((line) => line.split("\t")[0]);
  expect(await offers("", "service.restart")).toEqual(["name=", ""]);
  expect(await offers("test=", "state.highstate")).toEqual(["test=true", "test=false", ""]);
  expect(await offers("pkg.inst", "state.single")).toEqual(["pkg.installed", ""]);
  expect(await offers("", "no.such")).toEqual([""]);
});
