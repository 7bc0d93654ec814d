import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { readClaims, readOperatorFile } from "../../internal/identity/mod.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { operatorConfig, svc } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// A fleet of svc nats-auth init on its way to operators with keys of their own. Nothing is refused on the way.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;
let shared: string;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  shared = operatorConfig(bus);
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const adopt = async (...args: string[]) => {
  const { exit, stdout, stderr } = await svc([
    ...["operator", "adopt", "--config", shared, "--output", "json"],
    ...args,
  ]);
  const steps = exit === 0 ? (JSON.parse(stdout) as { step: string; state: string; detail: string }[]) : [];
  return { exit, stderr, steps: Object.fromEntries(steps.map((one) => [one.step, one])) };
};

test("without operators everything continues, and each step says what is lacking", async () => {
  expect((await svc(["enroll", "list", "--config", shared])).exit).toBe(0);
  const { steps, stderr } = await adopt();
  expect(steps).toMatchObject({
    masters: { state: "open", detail: "they know no administrators" },
    operators: { state: "open", detail: "0 in the registry" },
    "unsigned requests": { state: "open", detail: expect.stringContaining("would be refused: ") },
    "shared credentials": { state: "open", detail: expect.stringContaining("admin (") },
    require_signed: { state: "open", detail: "unsigned requests are taken" },
  });
  expect(stderr).toContain("Next: on the host of a master: svc operator adopt --auth-dir DIR");
  const who = await svc(["whoami", "--config", shared]);
  expect(who.stdout).toContain("everything: you are not registered");
});

test("the first operator is made once, the masters take it over while they run, and the first operator adds others", async () => {
  const file = join(bus.dir, "anna.operator");
  const made = await adopt("--auth-dir", bus.authDir, "--name", "anna", "--out", file);
  expect(made.steps).toMatchObject({ administrators: { state: "done" } });
  expect(made.stderr).toContain("to auth_dir of every other master");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const before = readFileSync(join(bus.authDir, "administrators"), "utf8");
  expect((await adopt("--auth-dir", bus.authDir)).steps).toMatchObject({
    administrators: { detail: "the file is there" },
  });
  expect(readFileSync(join(bus.authDir, "administrators"), "utf8")).toBe(before);

  const config = join(bus.dir, "anna.yaml");
  writeFileSync(config, `master: {urls: ["${bus.url}"], operator_file: ${file}, tls_ca: ${bus.caFile}}\n`);
  await until(async () => (await svc(["whoami", "--config", config])).exit === 0);
  const who = await svc(["whoami", "--config", config, "--output", "json"]);
  expect(JSON.parse(who.stdout)).toMatchObject({ name: "anna", roles: ["admin"], signed: true });
  const add = ["operator", "add", "bert", "--role", "viewer", "--with-key", "--config", config];
  expect((await svc(add)).exit).toBe(0);
  expect((await adopt()).steps).toMatchObject({
    masters: { state: "done", detail: "they know anna" },
    operators: { state: "done", detail: "1 in the registry" },
    require_signed: { state: "open" },
  });
});

test("an operator that is valid only through the signature of one that goes is named first, and signed again when that was seen", async () => {
  const config = join(bus.dir, "anna.yaml");
  const as = (who: string, ...args: string[]) => svc(["operator", ...args, "--config", join(bus.dir, who)]);
  const boss = await as("anna.yaml", "add", "boss", "--role", "admin", "--with-key");
  const file = join(bus.dir, "boss.operator");
  writeFileSync(file, boss.stdout, { mode: 0o600 });
  const ofBoss = `master: {urls: ["${bus.url}"], operator_file: ${file}, tls_ca: ${bus.caFile}}\n`;
  writeFileSync(join(bus.dir, "boss.yaml"), ofBoss);
  expect((await as("boss.yaml", "add", "carl", "--role", "viewer", "--with-key")).exit).toBe(0);

  // Anna did not sign the record of carl.
  const unseen = await as("anna.yaml", "roles", "carl", "operator");
  expect([unseen.exit, unseen.stderr]).toEqual([1, expect.stringContaining("repeat with --public-key U")]);
  const first = await as("anna.yaml", "disable", "boss");
  expect([first.exit, first.stderr]).toEqual([
    1,
    expect.stringMatching(/carl \(viewer, U[A-Z2-7]{55}\).*repeat with --sign-again/),
  ]);
  const self = await as("boss.yaml", "disable", "boss");
  expect([self.exit, self.stderr]).toEqual([2, expect.stringContaining("boss is your own name")]);
  for (const verb of ["disable", "remove"]) {
    const questions: string[] = [];
    const prompt = async (question: string) => `${questions.push(question)} times no`;
    const words = ["operator", verb, "boss", "--sign-again", "--config", config];
    const declined = await svc(words, { prompt });
    expect([declined.exit, declined.stdout, declined.stderr]).toEqual([1, "", "nothing was done\n"]);
    expect(questions).toEqual([`${verb === "disable" ? "Disable" : "Remove"} the operator boss? [y/N] `]);
  }
  const done = await as("anna.yaml", "disable", "boss", "--sign-again", "--output", "json");
  expect(JSON.parse(done.stdout)).toMatchObject({ signed_again: ["carl"], operator: { state: "disabled" } });
  const { stdout } = await svc(["operator", "list", "--config", config, "--output", "json"]);
  const states = (JSON.parse(stdout) as { name: string; state: string }[]).map((one) => [
    one.name,
    one.state,
  ]);
  expect(Object.fromEntries(states)).toMatchObject({ boss: "disabled", carl: "active" });
  expect((await as("anna.yaml", "roles", "carl", "operator")).exit).toBe(0);
});

test("an administrator who was away for longer than its JWT lasts renews it without anyone else", async () => {
  const config = join(bus.dir, "anna.yaml");
  const file = join(bus.dir, "anna.operator");
  const jwtOf = () => readOperatorFile(file).jwt;
  const before = jwtOf();
  const renew = ["operator", "renew", "anna", "--auth-dir", bus.authDir, "--config", config];
  const later = { ...systemClock, now: () => systemClock.now() + 40 * 24 * 3_600_000 };
  expect((await svc(renew, { clock: later })).exit).toBe(0);
  expect(readClaims(jwtOf()).exp).toBeGreaterThan(readClaims(before).exp ?? 0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await svc(["whoami", "--config", config])).exit).toBe(0);
  const other = await svc([...renew.slice(0, 2), "bert", ...renew.slice(3)]);
  expect([other.exit, other.stderr]).toEqual([1, expect.stringContaining("does not list bert")]);
});

test("who has admin.creds alone continues until signatures are required", async () => {
  expect((await svc(["enroll", "list", "--config", shared])).exit).toBe(0);
  await master[Symbol.asyncDispose]();
  master = await startMaster(bus, { config: { operators: { require_signed: true } } });
  const refused = await svc(["operator", "list", "--config", shared]);
  expect([refused.exit, refused.stderr]).toEqual([
    1,
    expect.stringContaining("takes signed requests only: install your operator file with svc login FILE"),
  ]);
  const config = join(bus.dir, "anna.yaml");
  const { stdout } = await svc(["operator", "adopt", "--config", config, "--output", "json"]);
  expect(JSON.parse(stdout)).toContainEqual(
    expect.objectContaining({ step: "require_signed", state: "done" }),
  );
});

test("bad input is one line, and makes nothing", async () => {
  const empty = join(bus.dir, "empty");
  const none = await adopt("--auth-dir", empty);
  expect([none.exit, none.stderr]).toEqual([1, expect.stringContaining("cannot read the JWT")]);
  expect(existsSync(empty)).toBe(false);
  expect((await adopt("--name", "anna")).exit).toBe(2);
});
