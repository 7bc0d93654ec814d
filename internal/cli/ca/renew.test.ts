import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { svc as run } from "../../../test/harness/svc.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";

const files = temporaryDirectory("cli-ca");
const dir = join(files.path, "ca");
const start = Date.UTC(2026, 0, 1);
const year = 8760 * 3_600_000;

afterAll(() => files[Symbol.dispose]());

const svc = (now: number, ...argv: string[]) =>
  run(["ca", ...argv, "--dir", dir], { clock: { ...systemClock, now: () => now } });

let pin: string;

beforeAll(async () => {
  const made = await svc(start, "init", "--org", "Example", "--output", "json");
  pin = JSON.parse(made.stdout).spki_pin;
});

test("renew-root shows the new expiry, the same pin, and where to copy the file", async () => {
  const done = await svc(start + year, "renew-root", "--output", "json");
  expect(done.exit).toBe(0);
  expect(JSON.parse(done.stdout)).toEqual({
    file: join(dir, "root.crt"),
    subject: "O=Example, CN=Example Root CA",
    not_before: "2026-12-31T23:55:00.000Z",
    not_after: "2036-12-29T00:00:00.000Z",
    previous_not_after: "2035-12-30T00:00:00.000Z",
    certificate_fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
    spki_pin: pin,
  });
  expect(done.stderr).toContain(`Copy ${join(dir, "root.crt")} to every master`);
  expect((await svc(start + year, "fingerprint")).stdout).toBe(`${pin}\n`);
});

test("renew-intermediate shows both ends in the table", async () => {
  const { exit, stdout } = await svc(start + year, "renew-intermediate");
  expect(exit).toBe(0);
  expect(stdout).toContain("2031-12-31T00:00:00.000Z (before: 2030-12-31T00:00:00.000Z)");
});

test("what cannot be renewed exits 1 with one line, a bad duration 2", async () => {
  expect(await svc(start + year, "renew-root", "--root-validity", "ten")).toMatchObject({
    exit: 2,
    stdout: "",
    stderr: expect.stringMatching(/^svc: --root-validity: .*\n$/),
  });
  expect(await svc(start + year, "renew-intermediate")).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining("svc ca renew-root"),
  });
  rmSync(join(dir, "root.key"));
  for (const name of ["renew-root", "renew-intermediate"]) {
    const refused = await svc(start + 2 * year, name);
    expect(refused).toMatchObject({ exit: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^svc: .*root\.key does not exist, .*\n$/);
  }
});
