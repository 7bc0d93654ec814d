import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInProcess } from "../../../test/harness/svc.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { runTree } from "../../program/command-line/run-tree.ts";
import { createRunLock } from "../../tree/run/run-lock.ts";
import { statesLockFile } from "../execution/states.ts";
import { peelCommands } from "./call.ts";

let directory: ReturnType<typeof temporaryDirectory>;
const at = (...path: string[]) => join(directory.path, ...path);

beforeAll(() => {
  directory = temporaryDirectory("call");
  for (const name of ["states", "settings", "data", "out"]) mkdirSync(at(name));
  writeFileSync(at("states/top.sls"), "base:\n  'web-*': [web]\n  'db-*': [broken]\n");
  writeFileSync(
    at("states/web.sls"),
    `${at("out/file")}:\n  file.managed:\n    - contents: port {{ pillar.port }} of {{ facts.id }}\n`,
  );
  writeFileSync(at("states/broken.sls"), "x:\n  test.fail_without_changes: []\n");
  writeFileSync(at("settings/top.sls"), "base:\n  '*': [common]\n");
  writeFileSync(at("settings/common.sls"), "port: 8080\n");
});
afterAll(() => directory[Symbol.dispose]());

const call = (...argv: string[]) =>
  runInProcess((options) => runTree(peelCommands, options), ["call", ...argv], {
    env: { SVC_DATA_DIR: at("data"), PATH: process.env.PATH },
  });

const local = (...argv: string[]) =>
  call("--local", "--states", at("states"), "--settings", at("settings"), "--id", "web-1.example", ...argv);

describe("a call with directories", () => {
  test("tests, applies, and then finds nothing to do", async () => {
    const tested = await local("state.highstate", "test=true");
    expect(tested.exit).toBe(0);
    expect(tested.stdout).toStartWith("1 would change (");
    expect(tested.stdout).toContain("+port 8080 of web-1.example");
    expect(readdirSync(at("out"))).toEqual([]);
    expect((await local("state.highstate")).stdout).toStartWith("1 changed (");
    expect(readFileSync(at("out/file"), "utf8")).toBe("port 8080 of web-1.example\n");
    expect((await local("state.highstate")).stdout).toMatch(/^1 ok \(\d+\.\d s\)\n$/);
  });

  test("uses the given peel id, and fails as states do", async () => {
    const db = ["--local", "--states", at("states"), "--id", "db-1"];
    const { exit, stdout, stderr } = await call(...db, "state.highstate", "--output", "json");
    expect([exit, stderr]).toEqual([1, "svc-peel: 1 of 1 states failed\n"]);
    expect(JSON.parse(stdout).summary).toMatchObject({ failed: 1 });
  });

  test("runs every other function too, with the settings of the directory", async () => {
    expect(await local("settings.get", "port")).toEqual({ exit: 0, stdout: "8080\n", stderr: "" });
    expect(await local("facts.get", "id", "--output", "json")).toEqual({
      exit: 0,
      stdout: '"web-1.example"\n',
      stderr: "",
    });
    expect((await local("test.echo", "a b")).stdout).toBe("a b\n");
  });

  test("leaves nothing in the data directory", () => {
    expect(readdirSync(at("data"))).toEqual([]);
  });
});

test("a call during a run of the peel reports what is running", async () => {
  const lock = createRunLock({ file: statesLockFile(at("data")), now: systemClock.now });
  await lock.hold("state.highstate", async () => {
    const { exit, stderr } = await local("state.apply", "web");
    expect(exit).toBe(1);
    expect(stderr).toContain("another run of states is active on this peel: state.highstate, since");
  });
  expect((await local("state.apply", "web")).exit).toBe(0);
});

test("without --local a host that was never a peel has neither settings nor states", async () => {
  const { exit, stdout, stderr } = await call("--id", "web-1", "state.highstate");
  expect([exit, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("states are not run: settings have never been resolved");
});

test.each([
  [["test.pong"], "did you mean test.ping?"],
  [["--locl", "test.ping"], "did you mean --local?"],
  [["--states", "/tmp", "test.ping"], "--states requires --local"],
  [["--settings", "/tmp", "test.ping"], "--settings requires --local"],
  [["--id", "a b", "test.ping"], "--id: "],
  [["--output", "xml", "test.ping"], "--output is table, json, jsonl, yaml, csv"],
  [["test.ping", "more"], "expected no arguments"],
  [[], "<function> is required"],
])("%p is a mistake on the command line", async (argv, message) => {
  const { exit, stdout, stderr } = await call(...argv);
  expect(stderr).toContain(message);
  expect([exit, stdout]).toEqual([2, ""]);
});

test.each([
  [["state.highstate"], "--states is required"],
  [["--states", "/nonexistent", "state.highstate"], "cannot read the directory /nonexistent"],
  [["--states", "/tmp", "state.highstate", "saltenv=dev"], "the environment dev does not exist"],
])("%p says what is missing", async (argv, message) => {
  const { exit, stderr } = await call("--local", "--id", "web-1", ...argv);
  expect(stderr).toContain(message);
  expect(exit).toBe(1);
});

test("help names every option once", async () => {
  const { exit, stdout } = await call("--help");
  expect(exit).toBe(0);
  expect(stdout.match(/--config <file>/g)).toHaveLength(1);
  expect(stdout).toContain("--local");
});
