import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkPeel } from "../../internal/agent/command/check.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { spkiPin } from "../../internal/identity/trust/pin.ts";
import { checkMaster } from "../../internal/master/command/check.ts";
import type { StepResult } from "../../internal/program/diagnosis/step.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { recordingLog } from "../harness/log.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { enrollPeel, operate } from "../harness/peel-connection.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { startTraceReceiver } from "../harness/trace-receiver.ts";

let bus: TestBus;
let master: TestMaster;
beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
}, 60_000);
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const base = { clock: systemClock, random: systemRandom, log: recordingLog() };
/** Excludes the store of the bus, whose server writes at any time. */
const filesBelow = (dir: string) =>
  readdirSync(dir, { recursive: true }).filter((name) => !String(name).startsWith("store"));
const levels = (results: readonly StepResult[]) =>
  Object.fromEntries(results.map(({ step, level }) => [step, level]));
const found = (results: readonly StepResult[], step: string) => results.find((one) => one.step === step);

function checkedMaster(...flags: string[]) {
  const argv = [
    ...["--config", join(bus.dir, "master.yaml"), "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--auth-dir", bus.authDir, ...flags],
  ];
  return checkMaster({ ...base, argv, env: { SVC_DATA_DIR: bus.dir }, hostname: "localhost" });
}

test("a master that works passes every step, and nothing is written", async () => {
  makeDirectory(join(bus.dir, "states"), 0o700);
  makeDirectory(join(bus.dir, "settings"), 0o700);
  const before = filesBelow(bus.dir);
  const results = await checkedMaster();
  expect(results.filter(({ level }) => level !== "ok")).toEqual([]);
  expect(found(results, "data directory")?.message).toBe("none is needed, as no files come from Git");
  expect(filesBelow(bus.dir)).toEqual(before);
});

test("an unknown flag ends the way of a master at its first step", async () => {
  const results = await checkedMaster("--bus-uri", "x");
  expect(found(results, "configuration")).toMatchObject({
    level: "fail",
    message: expect.stringContaining("--bus-url"),
  });
  expect(levels(results)).toMatchObject({ keys: "skip", "bus name": "skip", storage: "skip" });
});

test("a master is told of a CA that does not verify the bus, and of a bus that is not there", async () => {
  const other = await startBus();
  await using _ = other;
  const wrongCa = await checkedMaster("--bus-ca", other.caFile);
  expect(levels(wrongCa)).toMatchObject({ "bus connection": "ok", "bus TLS": "fail", storage: "skip" });
  const nobody = await checkedMaster("--bus-url", "tls://127.0.0.1:1");
  expect(found(nobody, "bus connection")).toMatchObject({
    message: "no connection to 127.0.0.1:1: connection refused",
    next: "start the bus (where embedded_bus is set: svc-master), open the port in the firewalls, or correct the URL",
  });
  const itsOwn = await checkedMaster("--bus-url", "tls://127.0.0.1:1", "--embedded-bus");
  expect(found(itsOwn, "bus connection")).toMatchObject({
    level: "fail",
    next: "start svc-master: it runs this bus (embedded_bus)",
  });
  expect(levels(nobody)).toMatchObject({ "bus name": "ok", "bus connection": "fail", "bus TLS": "skip" });
  const foreign = await checkedMaster("--bus-url", other.url, "--bus-ca", other.caFile);
  expect(levels(foreign)).toMatchObject({ "bus TLS": "ok", "bus credentials": "fail", storage: "skip" });
});

test("a master is told whether the receiver of traces takes them, and of a file of headers that others can read", async () => {
  using dir = temporaryDirectory("check-traces");
  await using receiver = startTraceReceiver();
  const headers = join(dir.path, "headers");
  writeFileSync(headers, "Authorization: Bearer of-the-receiver\n", { mode: 0o600 });
  const check = async (...flags: string[]) =>
    found(await checkedMaster("--otlp-endpoint", receiver.url, ...flags), "traces");
  expect(await check("--otlp-headers-file", headers)).toMatchObject({ level: "ok" });
  expect(receiver.headers?.get("authorization")).toBe("Bearer of-the-receiver");
  expect(receiver.spans).toEqual([]);
  receiver.status = 401;
  expect(await check()).toMatchObject({ level: "warn", message: expect.stringContaining("answers 401") });
  chmodSync(headers, 0o644);
  const open = await check("--otlp-headers-file", headers);
  expect(open).toMatchObject({ level: "fail", message: expect.stringContaining("0600") });
  expect(JSON.stringify(open)).not.toContain("of-the-receiver");
  const nobody = await checkedMaster("--otlp-endpoint", "http://127.0.0.1:1");
  expect(found(nobody, "traces")).toMatchObject({ level: "warn" });
  expect(found(await checkedMaster(), "traces")).toMatchObject({ level: "ok" });
});

test("a master is told of a rule that is wrong, with its place, unless it does not react", async () => {
  using dir = temporaryDirectory("check-rules");
  const file = join(dir.path, "a.yaml");
  writeFileSync(file, "rules: [{name: a, match: a/b, do: [emit: {tag: b}]}]");
  const rulesOf = async (...flags: string[]) =>
    found(await checkedMaster("--reactor-dir", dir.path, ...flags), "reactor rules");
  expect(await rulesOf()).toMatchObject({
    level: "ok",
    message: expect.stringContaining("1 rule in 1 file"),
  });
  writeFileSync(file, "rules: [{nam: a}]");
  expect(await rulesOf()).toMatchObject({
    level: "fail",
    message: expect.stringContaining(`${file}:1:10: `),
  });
  const call = `{target: "*", function: cmd.run, args: {command: "$${"{tag}"}"}}`;
  writeFileSync(file, `rules: [{name: a, match: a/b, do: [job: ${call}]}]`);
  expect(await rulesOf()).toMatchObject({
    level: "warn",
    message: expect.stringContaining(`1 rule refused: ${file}:1: rule a: `),
  });
  expect(await rulesOf("--no-reactor")).toMatchObject({ level: "ok" });
});

test("a master is told of a roles file that is wrong, and of one that others can change", async () => {
  using dir = temporaryDirectory("check-roles");
  const file = join(dir.path, "roles.yaml");
  const rolesOf = async () => found(await checkedMaster("--roles-file", file), "roles");
  expect(await rolesOf()).toMatchObject({ level: "ok", message: "only the built-in roles" });
  writeFileSync(file, "roles: {web: {enrollments: [list]}}", { mode: 0o644 });
  expect(await rolesOf()).toMatchObject({ level: "ok", message: `1 role in ${file}` });
  chmodSync(file, 0o664);
  expect(await rolesOf()).toMatchObject({ level: "warn", next: `chmod go-w ${file}` });
  writeFileSync(file, "roles: {web: {enrolments: [list]}}");
  expect(await rolesOf()).toMatchObject({
    level: "fail",
    message: expect.stringContaining(
      `${file}:1:15: role web: unknown kind "enrolments" (did you mean enrollments?)`,
    ),
  });
});

test("a master is told of secrets that others can reach, and how to close them", async () => {
  const seed = join(bus.authDir, "command.seed");
  chmodSync(seed, 0o644);
  const results = await checkedMaster();
  chmodSync(seed, 0o600);
  expect(found(results, "keys")).toMatchObject({ level: "warn", next: `chmod 600 ${seed}` });
});

function checkedPeel(dir: string, ...flags: string[]) {
  const argv = ["--bus-ca", bus.caFile, "--id", "web-1", "--master-url", master.url, ...flags];
  return checkPeel({ ...base, argv, env: { SVC_DATA_DIR: dir }, hostname: "web-1" });
}

test("a peel is looked at before and after its enrollment, and nothing is written", async () => {
  using dir = temporaryDirectory("check-peel");
  const flags = ["--bus-url", bus.url, "--enroll-ca-pin", spkiPin(master.ca)];
  const before = await checkedPeel(dir.path, ...flags);
  expect(levels(before)).toMatchObject({ masters: "ok", enrollment: "skip", "bus TLS": "ok" });
  expect(filesBelow(dir.path)).toEqual([]);

  const { credentials, peelId } = await enrollPeel(master, "web-1");
  makeDirectory(join(dir.path, "auth"), 0o700);
  writeFileAtomic(join(dir.path, "auth", `${peelId}.creds`), credentials, secretMode);
  const after = await checkedPeel(dir.path, ...flags);
  expect(after.filter(({ level }) => level !== "ok")).toEqual([]);
});

test("a peel that was revoked is told so, and how it enrolls again", async () => {
  using dir = temporaryDirectory("check-peel");
  const { credentials, enrollmentId, seed } = await enrollPeel(master, "web-2");
  const auth = join(dir.path, "auth");
  makeDirectory(auth, 0o700);
  const contents = { creds: credentials, seed: `${seed}\n`, enrollment: `${enrollmentId}\n` };
  for (const [end, text] of Object.entries(contents)) {
    writeFileAtomic(join(auth, `web-2.${end}`), text, secretMode);
  }
  const flags = ["--id", "web-2", "--bus-url", bus.url, "--enroll-ca-pin", spkiPin(master.ca)];
  const before = await checkedPeel(dir.path, ...flags);
  expect(found(before, "enrollment")?.level).toBe("ok");
  expect((await operate(master, enrollmentId, "revoke")).status).toBe(200);
  const after = await checkedPeel(dir.path, ...flags);
  expect(found(after, "enrollment")).toEqual({
    ...{ step: "enrollment", level: "fail" },
    message: `the enrollment ${enrollmentId} of this peel was revoked`,
    next: `if this host shall be a peel, delete ${auth}/web-2.creds and ${auth}/web-2.enrollment, and restart the peel: it enrolls again`,
  });
  expect(found(after, "bus credentials")?.message).toBe("not checked: it needs enrollment");
});

test("a peel is told of a master that it must not trust", async () => {
  using dir = temporaryDirectory("check-peel");
  const results = await checkedPeel(dir.path, "--enroll-ca-pin", `sha256:${"0".repeat(64)}`);
  expect(found(results, "masters")).toMatchObject({ level: "fail" });
  const firstUse = await checkedPeel(dir.path);
  expect(found(firstUse, "masters")?.message).toContain("first use");
  expect(filesBelow(dir.path)).toEqual([]);
});

test("a peel is told of credentials that are none", async () => {
  using dir = temporaryDirectory("check-peel");
  makeDirectory(join(dir.path, "auth"), 0o700);
  writeFileSync(join(dir.path, "auth", "web-1.creds"), "nothing");
  const results = await checkedPeel(dir.path, "--bus-url", bus.url);
  expect(levels(results)).toMatchObject({ enrollment: "fail", "bus TLS": "ok", "bus credentials": "skip" });
});
