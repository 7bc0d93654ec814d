import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { svc as run } from "../../test/harness/svc.ts";
import { temporaryDirectory } from "../../test/harness/temporary.ts";

const files = temporaryDirectory("cli-init");
afterAll(() => files[Symbol.dispose]());

const init = (...argv: string[]) => run(["init", ...argv], { hostname: "box" });

test("it says what it wrote and what comes next, for programs too", async () => {
  const dir = join(files.path, "one fleet");
  const made = await init(dir, "--output", "json");
  expect(made.exit).toBe(0);
  const data = JSON.parse(made.stdout);
  expect(data).toMatchObject({
    dir,
    spki_pin: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    master_url: "https://localhost:8443",
  });
  expect(data.files).toContainEqual({ file: join(dir, "operator.token"), mode: "600" });
  expect(data.next.map((step: { command: string }) => step.command)).toEqual([
    `svc-master --config '${dir}/master.yaml'`,
    `SVC_DATA_DIR='${dir}/peel' svc-peel --config '${dir}/peel.yaml'`,
    `svc enroll list --config '${dir}/svc.yaml' && svc enroll approve --config '${dir}/svc.yaml' ID`,
  ]);
  const again = await init(dir);
  expect(again).toEqual({
    exit: 1,
    stdout: "",
    stderr: `svc: ${dir}/auth/ca/root.key already exists and is not overwritten: choose another directory\n`,
  });
});

test("a directory that an interrupted run left is named, with what to do", async () => {
  const dir = join(files.path, "interrupted");
  expect((await init(dir)).exit).toBe(0);
  // The last file.
  rmSync(join(dir, "master.yaml"));
  expect((await init(dir)).stderr).toBe(
    `svc: ${dir}/auth/ca/root.key already exists and is not overwritten: choose another directory, or remove ${dir} if an interrupted run left it, which has no master.yaml\n`,
  );
});

test("no secret is shown", async () => {
  const made = await init(join(files.path, "quiet"), "--host", "svc.example.com");
  const token = await Bun.file(join(files.path, "quiet/operator.token")).text();
  expect(made.exit).toBe(0);
  expect(made.stdout).toContain("on a host with copies of");
  for (const text of [made.stdout, made.stderr]) {
    expect(text).not.toMatch(/\bS[OAUX][A-Z2-7]{56}\b|PRIVATE KEY/);
    expect(text).not.toContain(token.trim());
  }
});

test.each([
  [["--host", "not a name"], '--host: "not a name" is not a DNS name'],
  [["--advertise", "localhost"], "--advertise: a loopback address"],
  [["--advertise", "a b"], '--advertise: "a b" is not host or host:port'],
  [["--bus-port", "0"], '--bus-port: "0" is not a port'],
  [["--api-port", "99999"], '--api-port: "99999" is not a port'],
])("%j is refused before anything is written", async (flags, message) => {
  const dir = join(files.path, "refused");
  const { exit, stdout, stderr } = await init(dir, ...flags);
  expect([exit, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(message);
  expect(await Bun.file(join(dir, "master.yaml")).exists()).toBe(false);
});
