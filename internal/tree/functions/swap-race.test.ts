import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, chownSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { planState, stateContext } from "../../../test/harness/honesty.ts";
import { type HostileHome, startHostileHome } from "../../../test/harness/hostile-home.ts";
import { memoryFiles } from "../../../test/harness/states.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { SvcError } from "../../base/errors.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { StateFailure } from "../function/mod.ts";
import { archiveStates } from "./archive/archive.ts";
import { fileStates } from "./file/index.ts";

/** Files that each writer tries to write; `make races` sets more. */
const count = Number(process.env.SVC_RACE_FILES ?? 1_000);
const allStates = [...fileStates, ...archiveStates];
const populated = 64;

let host: HostileHome;

beforeEach(async () => {
  host = await startHostileHome(populated);
});

afterEach(async () => {
  host.expectNothingOutside();
  await host[Symbol.asyncDispose]();
});

/** Applies a state; the attacker may make it fail, but only by what it did to the path. @returns whether it was applied */
async function attempt(...call: Parameters<typeof planState>): Promise<boolean> {
  try {
    const plan = await planState(...call);
    await plan.apply?.();
    return true;
  } catch (thrown) {
    // A directory that was replaced while it was created is refused below the states.
    const isRefused = thrown instanceof SvcError && thrown.kind === "conflict";
    if (!isRefused) expect(thrown).toBeInstanceOf(StateFailure);
    return false;
  }
}

/** Applies a state to each file. */
async function attemptEach(
  name: string,
  args: (at: number) => Record<string, string | boolean | string[]>,
): Promise<void> {
  const context = stateContext();
  const files = host.files(count);
  let applied = 0;
  for (const [at, file] of files.entries()) {
    if (await attempt(allStates, name, join(host.target, file), args(at), context)) applied++;
  }
  // Refusing everything would be no answer.
  expect(applied).toBeGreaterThan(0);
}

test("file.managed with makedirs and backup", async () => {
  await attemptEach("file.managed", (at) => ({
    contents: [`${at}`],
    user: "daemon",
    makedirs: true,
    backup: ".bak",
  }));
});

test("file.managed with owner and mode only", async () => {
  await attemptEach("file.managed", () => ({ replace: false, user: "daemon", mode: "0666" }));
});

test("file.append", async () => {
  await attemptEach("file.append", (at) => ({ text: [`line ${at}`], makedirs: true }));
});

test("file.symlink", async () => {
  await attemptEach("file.symlink", () => ({ target: "/nowhere", force: true, user: "daemon" }));
});

test("file.directory", async () => {
  await attemptEach("file.directory", () => ({ user: "daemon", mode: "0777", makedirs: true, force: true }));
});

test("file.absent", async () => {
  await attemptEach("file.absent", () => ({}));
});

test("file.directory with recurse and clean", async () => {
  const recurse = ["user", "mode"];
  const args = { user: "daemon", mode: "0777", file_mode: "0666", recurse };
  for (let tried = 0; tried < count; tried += populated) {
    await attempt(allStates, "file.directory", host.target, args);
    await attempt(allStates, "file.directory", `${host.target}/d1`, { clean: true });
  }
});

test("file.recurse", async () => {
  const files = memoryFiles(Object.fromEntries(host.files(count).map((file) => [`web/${file}`, file])));
  const context = stateContext({ files });
  const args = { source: "svc://web", user: "daemon", dir_mode: "0777", makedirs: true };
  for (let round = 0; round < 8; round++) {
    await attempt(allStates, "file.recurse", host.target, args, context);
  }
});

test("archive.extracted", async () => {
  using scratch = temporaryDirectory("archive");
  for (const file of host.files(count)) {
    mkdirSync(join(scratch.path, file, ".."), { recursive: true });
    writeFileSync(join(scratch.path, file), file);
  }
  const archive = join(scratch.path, "a.tar");
  Bun.spawnSync([
    "tar",
    "-cf",
    archive,
    "-C",
    scratch.path,
    ...host.files(8).map((file) => file.slice(0, 2)),
  ]);
  const args = { source: [archive], user: "daemon", enforce_toplevel: false };
  for (let round = 0; round < 3; round++) {
    await attempt(allStates, "archive.extracted", host.target, args);
  }
});

const exchange = `
  const { copyFileSync, renameSync } = require("node:fs");
  const [good, evil, path] = process.argv.slice(1);
  const parent = process.ppid;
  process.setgid(1);
  process.setuid(1);
  process.stdout.write("ready");
  while (process.ppid === parent) {
    for (const each of [evil, good]) {
      copyFileSync(each, path + ".next");
      renameSync(path + ".next", path);
    }
  }
`;

test("what is extracted is the archive that was verified", async () => {
  using scratch = temporaryDirectory("archive");
  const at = (name: string) => join(scratch.path, name);
  chmodSync(scratch.path, 0o755);
  for (const name of ["good", "evil"]) {
    mkdirSync(at(`${name}/app`), { recursive: true });
    writeFileSync(at(`${name}/app/file`), name);
    Bun.spawnSync(["tar", "-cf", at(`${name}.tar`), "-C", at(name), "app"]);
  }
  mkdirSync(at("upload"));
  chownSync(at("upload"), 1, 1);
  const source = at("upload/a.tar");
  copyFileSync(at("good.tar"), source);
  const argv = [process.execPath, "-e", exchange, at("good.tar"), at("evil.tar"), source];
  const child = Bun.spawn(argv, { stdout: "pipe", stderr: "inherit" });
  await child.stdout.getReader().read();
  const args = {
    source: [source],
    source_hash: sha256Hex(readFileSync(at("good.tar"))),
    if_missing: at("no"),
  };
  let extracted = 0;
  for (let round = 0; round < 400 && extracted < 20; round++) {
    if (!(await attempt(allStates, "archive.extracted", at("out"), args))) continue;
    expect(readFileSync(at("out/app/file"), "utf8")).toBe("good");
    extracted++;
  }
  child.kill("SIGKILL");
  await child.exited;
  expect(extracted).toBeGreaterThan(0);
});
