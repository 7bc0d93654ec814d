import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };

// The working directory belongs to another user: its files must not run code or change settings.
const dist = join(import.meta.dir, "../../dist");
const binaries = ["svc-master", "svc-peel", "svc"];

let hostile: string;
let marker: string;

beforeAll(() => {
  hostile = mkdtempSync(join(tmpdir(), "svc-isolation-"));
  marker = join(hostile, "preload-ran");
  writeFileSync(
    join(hostile, ".env"),
    "NODE_TLS_REJECT_UNAUTHORIZED=0\nSVC_DATA_DIR=/from-dot-env\nSVC_PROBE=set\n",
  );
  writeFileSync(join(hostile, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
  // It tells what environment it saw, so that one file shows both that it ran and what was set.
  writeFileSync(
    join(hostile, "preload.ts"),
    `require("node:fs").writeFileSync(${JSON.stringify(marker)}, process.env.SVC_PROBE ?? "no .env");\n`,
  );
});

afterAll(() => rmSync(hostile, { recursive: true, force: true }));

/** Runs a program in the hostile directory, with an environment of its own. */
function run(program: string, args: string[]) {
  const done = Bun.spawnSync([program, ...args], {
    cwd: hostile,
    env: { PATH: "/usr/bin:/bin", HOME: hostile },
    stdin: "ignore",
  });
  return { exit: done.exitCode, stdout: done.stdout.toString(), stderr: done.stderr.toString() };
}

const probe = `process.stdout.write(JSON.stringify([
  process.env.SVC_PROBE ?? null, process.env.NODE_TLS_REJECT_UNAUTHORIZED ?? null,
]));\n`;

/** Compiles the probe, a program that prints two variables of its environment. */
async function compileProbe(name: string, guarded: boolean): Promise<string> {
  const entry = join(hostile, `${name}.ts`);
  const outfile = join(hostile, name);
  writeFileSync(entry, probe);
  const guards = guarded ? { autoloadDotenv: false, autoloadBunfig: false } : {};
  const built = await Bun.build({
    entrypoints: [entry],
    target: "bun",
    format: "esm",
    compile: { executablePath: process.execPath, outfile, ...guards },
  });
  expect(built.success).toBe(true);
  return outfile;
}

describe("the trap works:", () => {
  test("a program compiled by default reads .env and runs the preload", async () => {
    const result = run(await compileProbe("unguarded", false), []);
    expect(JSON.parse(result.stdout)).toEqual(["set", "0"]);
    expect(await Bun.file(marker).text()).toBe("set");
    rmSync(marker);
  });

  test("the same program compiled with the guards reads neither", async () => {
    const result = run(await compileProbe("guarded", true), []);
    expect(JSON.parse(result.stdout)).toEqual([null, null]);
    expect(existsSync(marker)).toBe(false);
  });
});

describe.each(binaries)("%s", (name) => {
  test("--version prints the version, and nothing of the directory runs", () => {
    const result = run(join(dist, name), ["--version"]);
    expect(result).toEqual({ exit: 0, stdout: expect.stringContaining(manifest.version), stderr: "" });
    expect(existsSync(marker)).toBe(false);
  });

  test("--help prints to standard output, and nothing of the directory runs or shows", () => {
    const result = run(join(dist, name), ["--help"]);
    expect(result).toEqual({ exit: 0, stdout: expect.stringContaining(name), stderr: "" });
    // The data directory appears in the defaults that the daemons list.
    expect(result.stdout).not.toContain("/from-dot-env");
    expect(existsSync(marker)).toBe(false);
  });
});
