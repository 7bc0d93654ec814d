import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { svc as run } from "../../../../test/harness/svc.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";

// Without a fleet: what the commands do in a directory, and how they refuse.

let files: ReturnType<typeof temporaryDirectory>;
let dir: string;
let peelFile: string;
let pin: string;

const svc = (...argv: string[]) => run(["ca", ...argv, "--dir", dir]);
const pinOf = async () => (await svc("fingerprint")).stdout.trim();

beforeEach(async () => {
  files = temporaryDirectory("cli-ca-rotate");
  dir = join(files.path, "auth", "ca");
  peelFile = join(files.path, "peel.yaml");
  expect((await svc("init", "--org", "Example")).exit).toBe(0);
  pin = await pinOf();
  writeFileSync(
    peelFile,
    `# Written by svc init\nenroll_ca_pin:\n  - ${pin}\nbus_url: tls://localhost:4222\n`,
  );
});
afterEach(() => files[Symbol.dispose]());

test("from start to finish with --force, the pins of the phase are in peel.yaml and in the fingerprint", async () => {
  const started = await svc("rotate", "start", "--output", "json");
  expect(started.exit).toBe(0);
  const { next } = JSON.parse(started.stdout);
  expect(JSON.parse(started.stdout)).toEqual({ dir, phase: "start", current: pin, next });
  expect(started.stderr).toContain(join(dir, "next"));
  expect(await pinOf()).toBe(`${pin}\n${next}`);
  const yaml = readFileSync(peelFile, "utf8");
  expect(yaml).toContain(pin);
  expect(yaml).toContain(next);
  expect(yaml).toEndWith("bus_url: tls://localhost:4222\n");
  expect(await svc("rotate", "activate")).toMatchObject({
    exit: 1,
    stderr: expect.stringMatching(/^svc: the fleet cannot be asked .*--force\n$/),
  });
  expect((await svc("rotate", "activate", "--force")).exit).toBe(0);
  expect((await svc("rotate", "finish", "--force")).exit).toBe(0);
  expect(await pinOf()).toBe(next);
  expect(readFileSync(peelFile, "utf8")).not.toContain(pin);
  expect((await svc("rotate", "finish")).exit).toBe(0);
});

test("abort takes everything back, and a file that svc init did not write is not touched", async () => {
  const before = readFileSync(peelFile, "utf8");
  await svc("rotate", "start");
  expect((await svc("rotate", "abort")).exit).toBe(0);
  expect(await pinOf()).toBe(pin);
  expect(readFileSync(peelFile, "utf8").replace(/[[\]]/g, "")).toContain(pin);
  expect((await svc("rotate", "abort")).exit).toBe(0);
  const foreign = before.replace("# Written by svc init", "# mine");
  writeFileSync(peelFile, foreign);
  await svc("rotate", "start");
  expect(readFileSync(peelFile, "utf8")).toBe(foreign);
});

test("bad input is one line with what to do, exit 1; a bad option exits 2; nothing is written", async () => {
  for (const [argv, message] of [
    [["activate"], /svc ca rotate start/],
    [["finish"], /svc ca rotate start/],
  ] as const) {
    const { exit, stdout, stderr } = await svc("rotate", ...argv);
    expect([exit, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  }
  expect((await svc("rotate", "start", "--root-validity", "ten")).exit).toBe(2);
  expect((await svc("rotate", "start", "--sometimes")).exit).toBe(2);
  rmSync(join(dir, "root.key"));
  expect(await svc("rotate", "start")).toMatchObject({
    exit: 1,
    stderr: expect.stringMatching(/^svc: .*root\.key does not exist.*--without-root-key.*\n$/),
  });
  expect(await pinOf()).toBe(pin);
});

test("a directory without a CA is refused, and the message names who rotates in external mode", async () => {
  const empty = join(files.path, "empty");
  mkdirSync(empty);
  for (const name of ["start", "status", "activate", "finish", "abort"]) {
    const refused = await run(["ca", "rotate", name, "--dir", empty]);
    expect(refused).toMatchObject({
      exit: 1,
      stderr: expect.stringMatching(/^svc: .*ca\.mode external.*the operator of that CA rotates.*\n$/),
    });
  }
});
