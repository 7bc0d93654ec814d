import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { identityFiles } from "./identity.ts";
import { leaveTwin } from "./instance.ts";

const one = "0123456789abcdef0123456789abcdef";
const other = "fedcba9876543210fedcba9876543210";
const enrollmentId = "enr-3MPxZxlYzCiGj5j7TWC2QxWr1XY";

let authDir: string;
let dataDir: string;
let files: ReturnType<typeof identityFiles>;
let stack: DisposableStack;

beforeEach(() => {
  stack = new DisposableStack();
  dataDir = stack.use(temporaryDirectory("instance")).path;
  authDir = join(dataDir, "auth");
  mkdirSync(join(dataDir, "outbox"), { recursive: true });
  mkdirSync(authDir);
  files = identityFiles(authDir, "web-1");
});
afterEach(() => stack.dispose());

let made = 0;
function start(machineId: string | undefined) {
  const log = recordingLog();
  const random = (length: number) => new Uint8Array(length).fill(++made);
  leaveTwin({ peelId: "web-1", files, belongings: [join(dataDir, "outbox")], machineId, random, log });
  return log.records;
}
const kept = () =>
  JSON.parse(readFileSync(files.instance, "utf8")) as { instance: string; machine_id?: string; copy?: true };
function enroll() {
  for (const name of ["seed", "credentials", "newSeed", "administrators"] as const) {
    writeFileSync(files[name], `${name} of the first`);
  }
  writeFileSync(files.enrollment, `${enrollmentId}\n`);
}
const before = () => readdirSync(authDir).sort();

test("a state without a record is recorded, and nothing else changes", () => {
  enroll();
  const found = before();
  expect(start(one)).toEqual([]);
  expect(before()).toEqual([...found, "instance"].sort());
  expect(kept()).toEqual({ instance: expect.stringMatching(/^[0-9a-f]{32}$/), machine_id: one });
  expect(statSync(files.instance).mode & 0o777).toBe(0o600);
  const first = kept();
  expect(start(one)).toEqual([]);
  expect(kept()).toEqual(first);
});

test("with another machine id the identity of the other peel is put aside, once", () => {
  enroll();
  start(one);
  const { instance } = kept();
  const [record, ...others] = start(other);
  expect(others).toEqual([]);
  expect(record).toMatchObject({ level: "warn", fields: { peel_id: "web-1", enrollment_id: enrollmentId } });
  expect(String(record?.fields.next)).toContain(
    `svc enroll revoke ${enrollmentId}, or gives this host another id`,
  );
  for (const path of [
    files.seed,
    files.credentials,
    files.newSeed,
    files.enrollment,
    join(dataDir, "outbox"),
  ]) {
    expect([path, existsSync(path), existsSync(`${path}.before`)]).toEqual([path, false, true]);
  }
  // What it knows of its fleet is as true as before.
  expect(existsSync(files.administrators)).toBe(true);
  expect(kept()).toEqual({ instance: expect.any(String), machine_id: other, copy: true });
  expect(kept().instance).not.toBe(instance);
  writeFileSync(files.seed, "its own");
  expect(start(other)).toEqual([]);
  expect(readFileSync(files.seed, "utf8")).toBe("its own");
});

test.each([
  ["has none", undefined],
  ["has not finished its first start", "uninitialized"],
  ["has an empty one", ""],
])("a host that %s is not a copy, and the record of the last one stays", (_, machineId) => {
  enroll();
  expect(start(machineId)).toEqual([]);
  const { instance } = kept();
  // One that it gets later is recorded.
  expect(start(one)).toEqual([]);
  expect(kept()).toEqual({ instance, machine_id: one });
  expect(start(machineId)).toEqual([]);
  expect(kept()).toEqual({ instance, machine_id: one });
  expect(existsSync(files.seed)).toBe(true);
  expect(start(other)).toHaveLength(1);
});

test("a crash after some of the files were put aside is made good by the next start", () => {
  enroll();
  start(one);
  const recorded = readFileSync(files.instance);
  start(other);
  writeFileSync(files.instance, recorded);
  writeFileSync(files.oldSeed, "left behind");
  expect(start(other)).toHaveLength(1);
  expect([existsSync(files.seed), existsSync(files.oldSeed)]).toEqual([false, false]);
  expect(kept().machine_id).toBe(other);
});

test.each(["", "{", '{"instance": 1}'])("a damaged file %j is made again, and said", (text) => {
  enroll();
  writeFileSync(files.instance, text);
  expect(start(other).map(({ level }) => level)).toEqual(["warn"]);
  expect(existsSync(files.seed)).toBe(true);
  expect(kept().machine_id).toBe(other);
});
