import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { builtIn } from "./built-in.ts";
import { followRoles, inspectRoles } from "./roles-file.ts";

const base = mkdtempSync(join(tmpdir(), "svc-roles-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(base, `roles-${count++}.yaml`);
/** Writes as an editor does that replaces the file: it has another inode. */
const write = (path: string, text: string) => {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
};
const own = (book: ReadonlyMap<string, unknown>) => [...book.keys()].filter((name) => !builtIn.has(name));

test("the last good roles stay in force while the file is broken or missing", () => {
  const path = fresh();
  const log = recordingLog();
  const roles = followRoles(path, log);
  expect([own(roles.current()), roles.problem()]).toEqual([[], undefined]);

  write(path, "roles: {web: {enrollments: [list]}}");
  expect([own(roles.current()), roles.problem()]).toEqual([["web"], undefined]);

  write(path, "roles: {db: {enrollments: [lst]}}");
  expect(own(roles.current())).toEqual(["web"]);
  expect(roles.problem()).toBe(
    `the last good roles stay in force: ${path}:1:28: role db: enrollments: unknown action "lst" (did you mean list?); known are list, show, approve, reject, revoke, label, expect, suspend, resume, clear-clone, restore, discard, revoke-user`,
  );

  rmSync(path);
  expect([own(roles.current()), roles.problem()]).toEqual([
    ["web"],
    `the last good roles stay in force: ${path} does not exist any more`,
  ]);

  write(path, "roles: {db: {enrollments: [list]}}");
  expect([own(roles.current()), roles.problem()]).toEqual([["db"], undefined]);
  write(path, "");
  expect([own(roles.current()), roles.problem()]).toEqual([[], undefined]);
  const said = log.records.filter(({ level }) => level === "error").map(({ event }) => event);
  expect(said).toEqual(["the roles file cannot be used", "the roles file cannot be used"]);
});

test("a file that was never good leaves only what is built in", () => {
  const path = fresh();
  writeFileSync(path, "roles: [");
  const roles = followRoles(path, recordingLog());
  expect(own(roles.current())).toEqual([]);
  expect(roles.problem()).toStartWith(`only the built-in roles are in force: ${path}:1`);
  expect(() => inspectRoles(path)).toThrow(path);
});

test("a file that others can change is distinguished", () => {
  const path = fresh();
  expect(inspectRoles(path)).toEqual({ roles: 0, isOpen: false });
  writeFileSync(path, "roles: {web: {}}");
  for (const [mode, isOpen] of [
    [0o644, false],
    [0o664, true],
    [0o602, true],
  ] as const) {
    chmodSync(path, mode);
    expect(inspectRoles(path)).toEqual({ roles: 1, isOpen });
  }
});

test.each([
  ["larger than 1 MiB", (path: string) => writeFileSync(path, `# ${"x".repeat(1024 * 1024)}`)],
  ["not UTF-8 text", (path: string) => writeFileSync(path, Buffer.from([0xff, 0xfe]))],
])("a hostile file is refused: %s", (problem, make) => {
  const path = fresh();
  make(path);
  const roles = followRoles(path, recordingLog());
  expect(roles.problem()).toContain(problem);
  expect(own(roles.current())).toEqual([]);
});
