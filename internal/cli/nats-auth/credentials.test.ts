import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { svc as run } from "../../../test/harness/svc.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { parseCredentials } from "../../identity/credentials.ts";
import { readClaims } from "../../identity/jwt.ts";
import { keyPairFromSeed } from "../../identity/nkey.ts";

const files = temporaryDirectory("credentials");
const at = (name: string) => join(files.path, name);

const svc = (...argv: string[]) => run(["nats-auth", ...argv], { clock: manualClock(1_800_000_000_000) });
beforeAll(async () => {
  expect((await svc("init", "--dir", at("auth"))).exit).toBe(0);
});
afterAll(() => files[Symbol.dispose]());

const make = (out: string, ...more: string[]) =>
  svc("credentials", "--dir", at("auth"), "--out", at(out), ...more);

test.each(["admin", "direct", "master"])(
  "further credentials of the role %s are signed by the masters' account",
  async (role) => {
    const made = await make(`${role}-2.creds`, "--role", role);
    expect([made.exit, made.stdout]).toEqual([
      0,
      `${at(`${role}-2.creds`)}: credentials of the role ${role}\n`,
    ]);
    expect(statSync(at(`${role}-2.creds`)).mode & 0o777).toBe(0o600);
    const text = readFileSync(at(`${role}-2.creds`), "utf8");
    const { jwt, key } = parseCredentials(text);
    const account = keyPairFromSeed("account", readFileSync(at("auth/masters.seed"), "utf8").trim());
    const first = readClaims(parseCredentials(readFileSync(at(`auth/${role}.creds`), "utf8")).jwt);
    expect(readClaims(jwt)).toMatchObject({
      iss: account.publicKey,
      sub: key.publicKey,
      name: role,
      nats: JSON.parse(JSON.stringify(first.nats).replaceAll(first.sub, key.publicKey)),
    });
    expect(key.publicKey).not.toBe(first.sub);
    expect(made.stdout + made.stderr).not.toContain(key.seed);
  },
);

test("a file that is there is not overwritten", async () => {
  writeFileSync(at("kept.creds"), "kept");
  expect(await make("kept.creds")).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining("not overwritten"),
  });
  expect(readFileSync(at("kept.creds"), "utf8")).toBe("kept");
});

test("a missing seed, or one of another kind, is named and not repeated", async () => {
  const elsewhere = await svc("credentials", "--dir", at("nowhere"), "--out", at("x.creds"));
  expect([elsewhere.exit, elsewhere.stderr]).toEqual([
    1,
    expect.stringContaining(at("nowhere/masters.seed")),
  ]);
  const seed = readFileSync(at("auth/operator.seed"), "utf8");
  writeFileSync(at("masters.seed"), seed, { mode: 0o600 });
  const wrong = await svc("credentials", "--dir", files.path, "--out", at("x.creds"));
  expect([wrong.exit, wrong.stderr]).toEqual([1, `svc: ${at("masters.seed")} is not an account seed\n`]);
});
